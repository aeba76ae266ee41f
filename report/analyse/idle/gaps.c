/* Finds the times in which a device had no work of a process. */
#include "report/analyse/idle/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_idle_idle.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

/* What is known of a call; all 0: nothing. */
struct idle_call {
    int64_t thread, start_ns, end_ns;
    uint64_t what;
};

struct idle_process {
    int64_t id, start_ns, end_ns;
    bool starts, ends; /* known */
    bool has_gpu, has_windows;
    int64_t untimed_ns;
    /* Without a GPU side, and between its windows: */
    bool worked, waited;
    int64_t waited_ns; /* since then all work was done, if `waited` */
    int64_t last_call;
};

struct idle_device {
    int64_t process, device;
    bool begun;
    int64_t until_ns, call; /* busy until then, and the call of the operation that was */
    int64_t read;           /* the call that was read last */
    struct idle_call last;
};

struct idle_finding {
    struct gv_idle_run *run;
    struct idle_process *processes; /* by id */
    size_t process_count, process_room;
    struct idle_device *devices;
    size_t device_count, device_room;
    struct gv_key_map device_numbers, place_devices;
    bool *launched; /* by thread: it has given a device work */
    sqlite3_stmt *call;
};

static struct idle_process *process_of(const struct idle_finding *finding, int64_t id)
{
    size_t low = 0, high = finding->process_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (finding->processes[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < finding->process_count && finding->processes[low].id == id
               ? &finding->processes[low]
               : NULL;
}

static int take_process(void *context, sqlite3_stmt *row)
{
    struct idle_finding *finding = context;
    int error = gv_array_room(&finding->processes, finding->process_count, &finding->process_room,
                              sizeof(*finding->processes));
    struct idle_process *process = error ? NULL : &finding->processes[finding->process_count++];

    if (error)
        return error;
    *process = (struct idle_process){
        .id = sqlite3_column_int64(row, 0),
        .start_ns = gv_time_column(row, 1),
        .starts = sqlite3_column_type(row, 1) != SQLITE_NULL,
        .ends = sqlite3_column_type(row, 2) != SQLITE_NULL,
        .has_gpu = sqlite3_column_int(row, 3) != 0,
        .has_windows = sqlite3_column_int(row, 4) != 0,
        .untimed_ns = INT64_MAX,
    };
    process->end_ns = gv_time_column(row, process->ends ? 2 : 5);
    return 0;
}

static int take_untimed(void *context, sqlite3_stmt *row)
{
    struct idle_process *process = process_of(context, sqlite3_column_int64(row, 0));

    if (process)
        process->untimed_ns = gv_time_column(row, 1);
    return 0;
}

static int take_place(void *context, sqlite3_stmt *row)
{
    struct idle_finding *finding = context;
    const struct gv_key place = {{(uint64_t)sqlite3_column_int64(row, 0), 0, 0}};
    const struct gv_key key = {
        {(uint64_t)sqlite3_column_int64(row, 1), (uint64_t)sqlite3_column_int64(row, 2), 0}};
    int64_t number = gv_key_map_find(&finding->device_numbers, &key);
    int error = 0;

    if (!number) {
        error = gv_array_room(&finding->devices, finding->device_count, &finding->device_room,
                              sizeof(*finding->devices));
        if (error)
            return error;
        finding->devices[finding->device_count] =
            (struct idle_device){.process = (int64_t)key.part[0], .device = (int64_t)key.part[1]};
        number = (int64_t)++finding->device_count;
        error = gv_key_map_add(&finding->device_numbers, &key, number);
    }
    return error ? error : gv_key_map_add(&finding->place_devices, &place, number);
}

/* ---- one idle time ---- */

static struct idle_call call_read(const struct idle_finding *finding, int64_t id)
{
    struct idle_call call = {0};

    if (id <= 0)
        return call;
    sqlite3_bind_int64(finding->call, 1, id);
    if (sqlite3_step(finding->call) == SQLITE_ROW) {
        call.thread = sqlite3_column_int64(finding->call, 0);
        call.what = (uint64_t)sqlite3_column_int64(finding->call, 1) << 32 |
                    (uint32_t)sqlite3_column_int64(finding->call, 2);
        call.start_ns = gv_time_column(finding->call, 3);
        call.end_ns = call.start_ns + gv_time_column_duration(finding->call, 4);
    }
    sqlite3_reset(finding->call);
    return call;
}

/* The thread whose looks explain an idle time: the one that gave the device work next, or, if it
 * was not there yet, the one that gave it the last work. */
static int64_t driving_thread(struct idle_finding *finding, const struct idle_call *before,
                              const struct idle_call *after, int64_t start_ns)
{
    const struct gv_idle_run *run = finding->run;
    int64_t thread = after->thread;
    size_t at;

    if (thread <= 0 || (uint64_t)thread >= run->threads.rows)
        return before->thread;
    if (finding->launched[thread])
        return thread;
    finding->launched[thread] = true;
    at = gv_idle_samples_from(run, thread, start_ns);
    return before->thread && (at == run->sample_count || run->samples[at].thread != thread ||
                              run->samples[at].at_ns >= after->start_ns)
               ? before->thread
               : thread;
}

/* The first unseen time of the process, or of a later one, that ends after `at_ns`. */
static size_t unseen_after(const struct gv_gpu_unseen_list *list, int64_t process, int64_t at_ns)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gv_gpu_unseen *unseen = &list->times[middle];
        if (unseen->process < process || (unseen->process == process && unseen->until_ns <= at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Missing operations may have filled parts of it. */
static int gap_known(struct idle_finding *finding, struct idle_process *process,
                     const struct gv_idle_gap *gap)
{
    const struct gv_gpu_unseen_list *list = &finding->run->unseen;
    int64_t from_ns = gap->start_ns, to_ns = gap->end_ns;
    int error = 0;

    if (to_ns > process->untimed_ns)
        to_ns = process->untimed_ns;
    for (size_t i = unseen_after(list, process->id, from_ns); i < list->count && !error; i++) {
        const struct gv_gpu_unseen *unseen = &list->times[i];
        if (unseen->process != process->id || unseen->known_ns >= to_ns)
            break;
        if (unseen->until_ns <= from_ns || unseen->known_ns >= unseen->until_ns)
            continue;
        error = gv_idle_gap_take(finding->run, gap, from_ns, unseen->known_ns);
        from_ns = unseen->until_ns > from_ns ? unseen->until_ns : from_ns;
    }
    return error ? error : gv_idle_gap_take(finding->run, gap, from_ns, to_ns);
}

/* 0, or a call that is not known any more, has no thread. */
static struct gv_idle_gap gap_between(enum gv_idle_place place, int64_t start_ns, int64_t end_ns,
                                      int64_t previous, const struct idle_call *before,
                                      int64_t next, const struct idle_call *after)
{
    return (struct gv_idle_gap){
        .place = place,
        .start_ns = start_ns,
        .host_ns = after->thread ? after->start_ns : end_ns,
        .launched_ns = after->thread ? after->end_ns : end_ns,
        .end_ns = end_ns,
        .previous = before->thread ? previous : 0,
        .next = after->thread ? next : 0,
        .before = before->what,
        .after = after->what,
    };
}

static int device_gap(struct idle_finding *finding, struct idle_device *device,
                      enum gv_idle_place place, int64_t end_ns, int64_t next)
{
    struct idle_process *process = process_of(finding, device->process);
    struct idle_call before = device->call && device->call == device->read
                                  ? device->last
                                  : call_read(finding, device->call);
    struct idle_call after = call_read(finding, next);
    struct gv_idle_gap gap =
        gap_between(place, device->until_ns, end_ns, device->call, &before, next, &after);
    int error;

    device->read = next;
    device->last = after;
    if (!process || end_ns <= device->until_ns)
        return 0;
    error = gv_idle_lane(finding->run, device->process, device->device,
                         driving_thread(finding, &before, &after, gap.start_ns), &gap.lane);
    return error ? error : gap_known(finding, process, &gap);
}

static int take_operation(void *context, sqlite3_stmt *row)
{
    struct idle_finding *finding = context;
    const struct gv_key place = {{(uint64_t)sqlite3_column_int64(row, 0), 0, 0}};
    int64_t number = gv_key_map_find(&finding->place_devices, &place);
    struct idle_device *device = number ? &finding->devices[number - 1] : NULL;
    struct idle_process *process = device ? process_of(finding, device->process) : NULL;
    int64_t start_ns = gv_time_column(row, 1);
    int64_t end_ns = start_ns + gv_time_column_duration(row, 2);
    int64_t call = sqlite3_column_int64(row, 3);
    bool first = device && !device->begun;
    int error = 0;

    if (!process)
        return 0;
    if (first) {
        device->begun = true;
        device->until_ns = process->starts ? process->start_ns : start_ns;
    }
    if (start_ns > device->until_ns)
        error =
            device_gap(finding, device, first ? GV_IDLE_FIRST : GV_IDLE_BETWEEN, start_ns, call);
    if (first || end_ns > device->until_ns)
        device->call = call;
    if (end_ns > device->until_ns)
        device->until_ns = end_ns;
    return error;
}

/* ---- processes without a GPU side, or with windows of it ---- */

/* What the calls say counts only where the GPU side does not say it. */
static int gap_unseen(struct idle_finding *finding, const struct idle_process *process,
                      const struct gv_idle_gap *gap)
{
    const struct gv_gpu_unseen_list *list = &finding->run->unseen;
    int64_t from_ns = gap->start_ns;
    int error = 0;

    for (size_t i = unseen_after(list, process->id, from_ns); i < list->count && !error; i++) {
        const struct gv_gpu_unseen *unseen = &list->times[i];
        int64_t until_ns = unseen->stopped ? unseen->seen_ns : unseen->until_ns;
        if (unseen->process != process->id || unseen->known_ns >= gap->end_ns)
            break;
        if (!unseen->stopped)
            error = gv_idle_gap_take(finding->run, gap,
                                     unseen->known_ns > from_ns ? unseen->known_ns : from_ns,
                                     until_ns < gap->end_ns ? until_ns : gap->end_ns);
        /* They overlap if the first operation of a window came late. */
        from_ns = until_ns > from_ns ? until_ns : from_ns;
    }
    return error;
}

/* The only device of the process; -1: it is not known which one had no work. */
static int64_t only_device(const struct idle_finding *finding, int64_t process)
{
    int64_t device = -1;

    for (size_t i = 0; i < finding->device_count; i++) {
        if (finding->devices[i].process == process && device >= 0)
            return -1;
        if (finding->devices[i].process == process)
            device = finding->devices[i].device;
    }
    return device;
}

static int host_gap(struct idle_finding *finding, struct idle_process *process,
                    enum gv_idle_place place, int64_t start_ns, int64_t end_ns, int64_t next)
{
    struct idle_call before = call_read(finding, process->last_call);
    struct idle_call after = call_read(finding, next);
    struct gv_idle_gap gap =
        gap_between(place, start_ns, end_ns, process->last_call, &before, next, &after);
    int error;

    gap.host_ns = gap.launched_ns = end_ns;
    gap.inferred = true;
    if (end_ns <= start_ns)
        return 0;
    error = gv_idle_lane(finding->run, process->id, only_device(finding, process->id),
                         driving_thread(finding, &before, &after, start_ns), &gap.lane);
    if (error)
        return error;
    return process->has_gpu ? gap_unseen(finding, process, &gap)
                            : gap_known(finding, process, &gap);
}

static int take_wait(void *context, sqlite3_stmt *row)
{
    struct idle_finding *finding = context;
    struct idle_process *process = process_of(finding, sqlite3_column_int64(row, 0));
    int64_t call = sqlite3_column_int64(row, 1), start_ns = gv_time_column(row, 2);
    int64_t end_ns = start_ns + gv_time_column_duration(row, 3);
    bool works = sqlite3_column_int(row, 4) != 0, waits = sqlite3_column_int(row, 5) != 0;
    int error = 0;

    if (!process || (process->has_gpu && !process->has_windows))
        return 0;
    if (works) {
        if (!process->worked && process->starts)
            error = host_gap(finding, process, GV_IDLE_FIRST, process->start_ns, start_ns, call);
        else if (process->waited)
            error = host_gap(finding, process, GV_IDLE_BETWEEN, process->waited_ns, start_ns, call);
        process->worked = true;
        process->waited = false;
    }
    if (waits && process->worked && !process->waited) {
        process->waited = true;
        process->waited_ns = end_ns;
    }
    process->last_call = call;
    return error;
}

/* A process that goes on after the analysed time has not ended there. */
static enum gv_idle_place last_place(const struct idle_finding *finding,
                                     const struct idle_process *process)
{
    return process->end_ns > finding->run->until_ns ? GV_IDLE_BETWEEN : GV_IDLE_LAST;
}

static int find_last(struct idle_finding *finding)
{
    int error = 0;

    for (size_t i = 0; i < finding->device_count && !error; i++) {
        struct idle_device *device = &finding->devices[i];
        const struct idle_process *process = process_of(finding, device->process);
        if (process && device->begun)
            error = device_gap(finding, device, last_place(finding, process), process->end_ns, 0);
    }
    for (size_t i = 0; i < finding->process_count && !error; i++) {
        struct idle_process *process = &finding->processes[i];
        if ((!process->has_gpu || process->has_windows) && process->waited)
            error = host_gap(finding, process, last_place(finding, process), process->waited_ns,
                             process->end_ns, 0);
    }
    return error;
}

int gv_idle_gaps_find(struct gv_idle_run *run)
{
    struct idle_finding finding = {.run = run};
    const struct {
        const char *sql;
        gv_database_take *take;
    } steps[] = {
        {sql_processes, take_process},    {sql_untimed, take_untimed}, {sql_places, take_place},
        {sql_operations, take_operation}, {sql_waits, take_wait},
    };
    int error = gv_gpu_unseen_read(run->trace, &run->unseen);

    finding.launched = calloc(run->threads.rows + 1, sizeof(*finding.launched));
    if (!error && !finding.launched)
        error = -ENOMEM;
    if (!error)
        error = gv_database_error(
            run->trace, sqlite3_prepare_v2(run->trace, sql_call, -1, &finding.call, NULL));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !error; i++)
        error = gv_database_each(run->trace, steps[i].sql, NULL, 0, steps[i].take, &finding);
    if (!error)
        error = find_last(&finding);
    sqlite3_finalize(finding.call);
    gv_key_map_free(&finding.device_numbers);
    gv_key_map_free(&finding.place_devices);
    free(finding.launched);
    free(finding.processes);
    free(finding.devices);
    return error;
}
