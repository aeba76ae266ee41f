#include "report/analyse/scaled/scaled.h"

#include "report/store/time_sum.h"
#include "report/analyse_scaled_scaled.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/id_table.h"
#include "trace/mix.h"

#include <math.h>
#include <stdbool.h>

/* Calls of a thread before a call that tell cells apart. */
#define BEFORE 8u
/* A small copy takes as long as one of so many bytes. */
#define LEAST_COPY 32768

enum call_column {
    CALL_ID,
    CALL_THREAD,
    CALL_API,
    CALL_START,
    CALL_BYTES,
    CALL_OBJECT,
    CALL_KERNEL,
    CALL_STREAM,
    CALL_WORK,
    CALL_CAPTURED,
    CALL_KIND,
    CALL_NUMBER,
    CALL_DEVICE,
    CALL_NS, /* from here on in the order of enum gv_estimate_amount */
};

/* What is launched in [from_ns, to_ns) is seen. */
struct period {
    int64_t process, from_ns, to_ns;
    size_t window; /* of a piece of one that was chosen at random */
};

struct periods {
    struct period *all; /* by process, then by time */
    size_t count, room;
};

struct windows_process {
    int64_t id, seen_from_ns, start_ns, end_ns;
};

struct thread {
    uint32_t before[BEFORE]; /* what its last calls were */
    uint32_t at;
};

struct gv_scaled {
    sqlite3 *trace;
    struct gv_totals_part part;
    sqlite3_stmt *add;
    struct windows_process *processes; /* by id */
    size_t process_count, process_room;
    const struct gv_stopped *stopped;
    struct periods seen, pieces;
    size_t windows;
    struct gv_id_table threads, kernels; /* process; rank of the name */
    struct thread *befores;              /* by id of the thread */
    struct gv_estimate estimate;
    /* The call that is being read, with its operations so far. */
    int64_t process;
    struct gv_estimate_call call;
    int64_t call_id; /* 0: none */
    bool counts;     /* in the part, and puts work on the GPU */
    struct gv_estimate_work *works;
    size_t work_count, work_room;
};

/* ---- opening ---- */

static int take_process(void *context, sqlite3_stmt *row)
{
    struct gv_scaled *scaled = context;
    int error = gv_array_room(&scaled->processes, scaled->process_count, &scaled->process_room,
                              sizeof(*scaled->processes));

    if (!error)
        scaled->processes[scaled->process_count++] = (struct windows_process){
            .id = sqlite3_column_int64(row, 0),
            .seen_from_ns = gv_time_column(row, 1),
            .start_ns = gv_time_column(row, 2),
            .end_ns = gv_time_column(row, 3),
        };
    return error;
}

static const struct windows_process *process_of(const struct gv_scaled *scaled, int64_t id)
{
    for (size_t i = 0; i < scaled->process_count; i++)
        if (scaled->processes[i].id == id)
            return &scaled->processes[i];
    return NULL;
}

int gv_scaled_open(struct gv_scaled **scaled, sqlite3 *trace, const struct gv_totals_part *part)
{
    struct gv_scaled *run = calloc(1, sizeof(*run));
    int error;

    if (!run)
        return -ENOMEM;
    run->trace = trace;
    run->part = *part;
    error = gv_database_each(trace, sql_processes, &part->process, 1, take_process, run);
    if (!error && run->process_count == 0) {
        gv_scaled_close(run);
        return 0;
    }
    if (!error)
        error = gv_database_script(trace, sql_open_operations, NULL, 0);
    if (!error)
        error = gv_database_error(
            trace, sqlite3_prepare_v2(trace, sql_add_operation, -1, &run->add, NULL));
    if (!error)
        error = gv_id_table_read(&run->threads, trace, "SELECT id, process FROM thread");
    if (!error)
        error = gv_id_table_read(&run->kernels, trace, sql_kernel_names);
    run->befores = error ? NULL : calloc(run->threads.rows + 1, sizeof(*run->befores));
    if (!error && !run->befores)
        error = -ENOMEM;
    *scaled = run;
    return error;
}

int gv_scaled_take(struct gv_scaled *scaled, int64_t process, int64_t call,
                   const struct gv_estimate_work *work)
{
    if (!scaled)
        return 0;
    if (!call || !process_of(scaled, process))
        return gv_estimate_take(&scaled->estimate, work);
    const int64_t values[] = {call,
                              work->kind,
                              work->number,
                              (int64_t)work->device,
                              work->amounts[GV_ESTIMATE_NS],
                              work->amounts[GV_ESTIMATE_BUSY],
                              work->amounts[GV_ESTIMATE_OWN],
                              work->amounts[GV_ESTIMATE_BYTES]};
    return gv_database_add(scaled->add, values, 8);
}

/* ---- when calls were seen ---- */

static int add_period(struct periods *periods, int64_t process, int64_t from_ns, int64_t to_ns,
                      size_t window)
{
    int error = from_ns < to_ns ? gv_array_room(&periods->all, periods->count, &periods->room,
                                                sizeof(*periods->all))
                                : 0;

    if (!error && from_ns < to_ns)
        periods->all[periods->count++] = (struct period){process, from_ns, to_ns, window};
    return error;
}

/* The period of the process that contains a time, or ends next after it: at most `count`. */
static size_t period_after(const struct periods *periods, int64_t process, int64_t at_ns)
{
    size_t low = 0, high = periods->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct period *period = &periods->all[middle];
        if (period->process < process || (period->process == process && period->to_ns <= at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct period *period_at(const struct periods *periods, int64_t process, int64_t at_ns)
{
    size_t at = period_after(periods, process, at_ns);
    const struct period *period = at < periods->count ? &periods->all[at] : NULL;

    return period && period->process == process && period->from_ns <= at_ns ? period : NULL;
}

static int find_seen(struct gv_scaled *scaled, const struct windows_process *process,
                     const struct gv_gpu_unseen_list *unseen)
{
    int64_t from_ns = process->seen_from_ns;
    int error = 0;

    for (size_t i = 0; i < unseen->count && !error; i++) {
        const struct gv_gpu_unseen *time = &unseen->times[i];
        if (time->process != process->id)
            continue;
        error = add_period(&scaled->seen, process->id, from_ns, time->launched_ns, 0);
        if (time->seen_ns > from_ns)
            from_ns = time->seen_ns;
    }
    return error ? error : add_period(&scaled->seen, process->id, from_ns, INT64_MAX, 0);
}

/* The pieces of a window in which the GPU side was seen. */
static int take_window(void *context, sqlite3_stmt *row)
{
    struct gv_scaled *scaled = context;
    int64_t from_ns = gv_time_column(row, 0), to_ns = gv_time_column(row, 1);
    size_t before = scaled->pieces.count;
    int error = 0;

    for (size_t i = period_after(&scaled->seen, scaled->process, from_ns);
         i < scaled->seen.count && !error; i++) {
        const struct period *seen = &scaled->seen.all[i];
        if (seen->process != scaled->process || seen->from_ns >= to_ns)
            break;
        error = add_period(&scaled->pieces, scaled->process,
                           seen->from_ns > from_ns ? seen->from_ns : from_ns,
                           seen->to_ns < to_ns ? seen->to_ns : to_ns, scaled->windows);
    }
    if (!error && scaled->pieces.count > before)
        gv_estimate_window(&scaled->estimate, scaled->windows++);
    return error;
}

/* ---- calls ---- */

static uint32_t hash_before(const struct thread *thread)
{
    uint64_t hash = 0;

    for (uint32_t i = 1; i <= BEFORE; i++)
        hash = gv_mix(hash, thread->before[(thread->at - i) % BEFORE]);
    return (uint32_t)(hash >> 32);
}

static uint64_t octave(int64_t bytes)
{
    return bytes > 0 ? (uint64_t)(64 - __builtin_clzll((uint64_t)bytes)) : 0;
}

static void set_keys(const struct gv_scaled *scaled, sqlite3_stmt *row, int64_t thread,
                     uint64_t before, struct gv_estimate_call *call)
{
    int64_t work = sqlite3_column_int64(row, CALL_WORK);
    int64_t bytes = gv_time_column_duration(row, CALL_BYTES);
    uint64_t rank = (uint64_t)gv_id_table_get(&scaled->kernels, call->kernel, 0);
    uint64_t kind = gv_mix(0, (uint64_t)work);

    call->size = 1;
    call->keys[2] = before;
    if (work == 1) {
        /* A kernel without a name is like none other. */
        call->keys[0] = gv_mix(gv_mix(kind, rank), rank ? 0 : (uint64_t)call->kernel);
        call->keys[1] = gv_mix((uint64_t)thread, (uint64_t)sqlite3_column_int64(row, CALL_STREAM));
    } else if (work == 2) {
        call->keys[0] = kind;
        call->keys[1] =
            gv_mix((uint64_t)scaled->process, (uint64_t)sqlite3_column_int64(row, CALL_OBJECT));
    } else {
        call->size = (double)bytes + LEAST_COPY;
        call->keys[0] = gv_mix(kind, (uint64_t)call->api);
        call->keys[1] = gv_mix((uint64_t)thread, octave(bytes));
        call->keys[2] = gv_mix(before, (uint64_t)bytes);
    }
}

static void note_before(struct thread *thread, sqlite3_stmt *row,
                        const struct gv_estimate_call *call)
{
    uint64_t self = gv_mix((uint64_t)call->api, (uint64_t)call->kernel);

    if (sqlite3_column_int64(row, CALL_WORK) == 2)
        self = gv_mix(self, (uint64_t)sqlite3_column_int64(row, CALL_OBJECT));
    self = gv_mix(self, octave(sqlite3_column_int64(row, CALL_BYTES)));
    thread->before[thread->at++ % BEFORE] = (uint32_t)(self >> 32);
}

/* Adds the call that was read. */
static int end_call(struct gv_scaled *scaled)
{
    scaled->call.works = scaled->works;
    scaled->call.count = scaled->work_count;
    if (scaled->call.known == GV_ESTIMATE_UNSEEN && scaled->work_count > 0)
        scaled->call.known = GV_ESTIMATE_SEEN;
    int error = scaled->counts ? gv_estimate_add(&scaled->estimate, &scaled->call) : 0;

    scaled->call_id = 0;
    scaled->counts = false;
    scaled->work_count = 0;
    return error;
}

static bool is_in_part(const struct gv_scaled *scaled, int64_t thread, int64_t call,
                       int64_t start_ns)
{
    const struct gv_totals_part *part = &scaled->part;

    return (!part->thread || part->thread == thread) && start_ns >= part->from_ns &&
           start_ns < part->to_ns && gv_range_choice_has(part->ranges, call) &&
           !gv_stopped_has(scaled->stopped, scaled->process, start_ns);
}

static void begin_call(struct gv_scaled *scaled, sqlite3_stmt *row, int64_t id)
{
    int64_t thread_id = sqlite3_column_int64(row, CALL_THREAD);
    int64_t start_ns = gv_time_column(row, CALL_START);
    struct thread *thread =
        &scaled
             ->befores[thread_id > 0 && (uint64_t)thread_id < scaled->threads.rows ? thread_id : 0];
    struct gv_estimate_call *call = &scaled->call;
    const struct period *piece = period_at(&scaled->pieces, scaled->process, start_ns);
    uint32_t before = hash_before(thread);

    *call = (struct gv_estimate_call){
        .kernel = sqlite3_column_int64(row, CALL_KERNEL),
        .api = sqlite3_column_int64(row, CALL_API),
        .known = piece                                                 ? GV_ESTIMATE_SAMPLED
                 : period_at(&scaled->seen, scaled->process, start_ns) ? GV_ESTIMATE_SEEN
                                                                       : GV_ESTIMATE_UNSEEN,
        .window = piece ? piece->window : 0,
    };
    set_keys(scaled, row, thread_id, before, call);
    note_before(thread, row, call);
    /* What is captured runs with its graph. */
    scaled->counts = sqlite3_column_int64(row, CALL_WORK) != 0 &&
                     !sqlite3_column_int(row, CALL_CAPTURED) &&
                     is_in_part(scaled, thread_id, id, start_ns);
    scaled->call_id = id;
}

/* A call, with one of its operations. */
static int take_call(void *context, sqlite3_stmt *row)
{
    struct gv_scaled *scaled = context;
    int64_t id = sqlite3_column_int64(row, CALL_ID);
    int error = scaled->call_id != id ? end_call(scaled) : 0;

    if (error)
        return error;
    if (scaled->call_id != id)
        begin_call(scaled, row, id);
    if (!scaled->counts || sqlite3_column_type(row, CALL_KIND) == SQLITE_NULL)
        return 0;
    error = gv_array_room(&scaled->works, scaled->work_count, &scaled->work_room,
                          sizeof(*scaled->works));
    if (error)
        return error;
    struct gv_estimate_work *work = &scaled->works[scaled->work_count++];
    *work = (struct gv_estimate_work){
        .kind = sqlite3_column_int64(row, CALL_KIND),
        .number = sqlite3_column_int64(row, CALL_NUMBER),
        .device = (size_t)sqlite3_column_int64(row, CALL_DEVICE),
    };
    for (int i = 0; i < GV_ESTIMATE_AMOUNTS; i++)
        work->amounts[i] = gv_time_column_duration(row, CALL_NS + i);
    return 0;
}

static int read_calls(struct gv_scaled *scaled)
{
    int closed, error = gv_gpu_captured_open(scaled->trace, scaled->process);

    if (!error)
        error = gv_database_each(scaled->trace, sql_calls, &scaled->process, 1, take_call, scaled);
    if (!error)
        error = end_call(scaled);
    closed = gv_gpu_captured_close(scaled->trace);
    return error ? error : closed;
}

int gv_scaled_solve(struct gv_scaled *scaled, const struct gv_gpu_unseen_list *unseen,
                    const struct gv_stopped *stopped)
{
    int error = 0;

    if (!scaled)
        return 0;
    scaled->stopped = stopped;
    sqlite3_finalize(scaled->add);
    scaled->add = NULL;
    error = gv_database_script(scaled->trace, sql_end_operations, NULL, 0);
    for (size_t i = 0; i < scaled->process_count && !error; i++)
        error = find_seen(scaled, &scaled->processes[i], unseen);
    for (size_t i = 0; i < scaled->process_count && !error; i++) {
        scaled->process = scaled->processes[i].id;
        error =
            gv_database_each(scaled->trace, sql_windows, &scaled->process, 1, take_window, scaled);
        if (!error)
            error = read_calls(scaled);
    }
    if (!error)
        error = gv_estimate_solve(&scaled->estimate);
    return error ? error : gv_database_script(scaled->trace, sql_close_operations, NULL, 0);
}

/* ---- results ---- */

const struct gv_estimate *gv_scaled_estimate(const struct gv_scaled *scaled)
{
    return scaled ? &scaled->estimate : NULL;
}

static int64_t rounded(double amount)
{
    return amount < 9e18 ? llround(amount) : INT64_MAX;
}

int64_t gv_scaled_sum(const struct gv_estimate_row *row, enum gv_estimate_amount amount)
{
    return rounded(row->known[amount] + row->unseen[amount]);
}

static int64_t common_ns(int64_t from_ns, int64_t to_ns, int64_t other_from_ns, int64_t other_to_ns)
{
    int64_t start_ns = from_ns > other_from_ns ? from_ns : other_from_ns;
    int64_t end_ns = to_ns < other_to_ns ? to_ns : other_to_ns;

    return end_ns > start_ns ? gv_time_difference(end_ns, start_ns) : 0;
}

int64_t gv_scaled_seen_ppm(const struct gv_scaled *scaled, int64_t from_ns, int64_t to_ns)
{
    double seen_ns = 0, all_ns = 0;

    for (size_t i = 0; scaled && i < scaled->process_count; i++) {
        const struct windows_process *process = &scaled->processes[i];
        all_ns += (double)common_ns(from_ns, to_ns, process->start_ns, process->end_ns);
        for (size_t at = period_after(&scaled->seen, process->id, from_ns);
             at < scaled->seen.count && scaled->seen.all[at].process == process->id; at++)
            seen_ns += (double)common_ns(from_ns, to_ns < process->end_ns ? to_ns : process->end_ns,
                                         scaled->seen.all[at].from_ns, scaled->seen.all[at].to_ns);
    }
    return all_ns > 0 ? llround(1e6 * seen_ns / all_ns) : 0;
}

int gv_scaled_store(const struct gv_scaled *scaled)
{
    sqlite3_stmt *add = NULL, *unknown = NULL;
    int error = 0;

    if (!scaled)
        return 0;
    error = gv_database_error(scaled->trace,
                              sqlite3_prepare_v2(scaled->trace, sql_add_row, -1, &add, NULL));
    if (!error)
        error = gv_database_error(
            scaled->trace, sqlite3_prepare_v2(scaled->trace, sql_add_unknown, -1, &unknown, NULL));
    for (size_t i = 0; i < scaled->estimate.row_count && !error; i++) {
        const struct gv_estimate_row *row = &scaled->estimate.rows[i];
        const int64_t values[] = {row->kind, row->number,
                                  gv_scaled_sum(row, GV_ESTIMATE_OPERATIONS),
                                  rounded(row->known[GV_ESTIMATE_OPERATIONS]),
                                  rounded(gv_estimate_row_error(&scaled->estimate, row))};
        error = gv_database_add(add, values, 5);
    }
    for (size_t i = 0; i < scaled->estimate.unknown_count && !error; i++) {
        const struct gv_estimate_unknown *row = &scaled->estimate.unknown[i];
        error = gv_database_add(unknown, (const int64_t[]){row->kernel, row->api, row->calls}, 3);
    }
    sqlite3_finalize(add);
    sqlite3_finalize(unknown);
    return error;
}

void gv_scaled_close(struct gv_scaled *scaled)
{
    if (!scaled)
        return;
    sqlite3_finalize(scaled->add);
    gv_id_table_free(&scaled->threads);
    gv_id_table_free(&scaled->kernels);
    gv_estimate_free(&scaled->estimate);
    free(scaled->processes);
    free(scaled->seen.all);
    free(scaled->pieces.all);
    free(scaled->befores);
    free(scaled->works);
    free(scaled);
}
