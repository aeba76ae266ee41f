#include "report/analyse/lines/pass.h"

#include "report/analyse/lines/run.h"
#include "report/store/time_sum.h"
#include "report/analyse_lines_lines.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/call_table.h"
#include "trace/mix.h"
#include "trace/spool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- the calls ---- */

/* What the thread's last calls were; the newest `count`. */
static uint32_t hash_before(const struct gv_lines_thread *thread, uint32_t count)
{
    uint64_t hash = 0;

    for (uint32_t i = 1; i <= count; i++)
        hash = gv_mix(hash, thread->before[(thread->at - i) % GV_LINES_BEFORE]);
    return (uint32_t)(hash >> 32);
}

static void read_call(const struct gv_lines *lines, const struct gv_pass_call *row,
                      struct gv_lines_call *call)
{
    int64_t object =
        gv_id_table_get(&lines->work, row->api, 0) == GV_GPU_WORK_GRAPH ? row->object : 0;
    uint64_t self =
        gv_mix(gv_mix(gv_mix(row->api, row->kernel), (uint64_t)object), gv_lines_size(row->bytes));

    *call = (struct gv_lines_call){
        .id = row->key.id,
        .start_ns = row->key.at_ns,
        .self = self,
        .thread = row->thread,
        .stack = row->stack,
        .known = !row->stack            ? GV_STRATA_NOTHING
                 : row->has_other_stack ? GV_STRATA_OTHER
                 : row->one_of          ? GV_STRATA_CHOSEN
                                        : GV_STRATA_OWN,
        .one_of = (float)row->one_of,
    };
    if (object)
        call->capture = gv_lines_capture_of(
            lines, gv_id_table_get(&lines->process_of, row->thread, 0), object, call->start_ns);
    struct gv_lines_thread *of = gv_lines_thread_of(lines, row->thread);
    call->near = hash_before(of, GV_LINES_NEAR);
    call->far = hash_before(of, GV_LINES_BEFORE);
    call->chance = of->chance;
    if (of->before[(of->at - 1) % GV_LINES_BEFORE] != (uint32_t)(self >> 32))
        of->alike = 0;
    call->alike = (uint16_t)of->alike;
    of->alike += of->alike < GV_LINES_ALIKE;
    of->before[of->at++ % GV_LINES_BEFORE] = (uint32_t)(self >> 32);
}

static uint64_t duration_class(int64_t duration_ns, double classes_per_octave)
{
    return duration_ns > 0 ? (uint64_t)(log2((double)duration_ns) * classes_per_octave) + 1 : 0;
}

static int find_class(struct gv_lines *lines, const struct gv_lines_class *wanted, size_t *class)
{
    const struct gv_key key = {{(uint64_t)wanted->process,
                                (uint64_t)wanted->name << 17 | (uint64_t)wanted->of_node << 16 |
                                    (uint64_t)wanted->of_forward << 15 |
                                    (uint64_t)wanted->host_only << 14 |
                                    (uint64_t)wanted->kind << 8 | (uint64_t)wanted->copy_kind,
                                (uint64_t)wanted->capture}};
    int64_t number = gv_key_map_find(&lines->class_numbers, &key);
    int error;

    *class = (size_t)number - 1;
    if (number)
        return 0;
    error = gv_strata_class(&lines->strata, class);
    while (!error && *class >= lines->class_room)
        error = gv_array_room(&lines->classes, lines->class_room, &lines->class_room,
                              sizeof(*lines->classes));
    if (error)
        return error;
    lines->classes[*class] = *wanted;
    return gv_key_map_add(&lines->class_numbers, &key, (int64_t) * class + 1);
}

/* The classes of the API's own words for what it puts on the GPU. */
static int64_t kind_of_work(int64_t work)
{
    return work == GV_GPU_WORK_KERNEL  ? GV_GPU_KERNEL
           : work == GV_GPU_WORK_GRAPH ? GV_GPU_GRAPH
                                       : GV_GPU_COPY;
}

/* What a graph runs was asked for where it was added to the graph, and counts as a launch there. */
static int add_node(struct gv_lines *lines, struct gv_lines_class *class,
                    const struct gv_lines_call *call, int64_t stack,
                    int64_t amounts[GV_STRATA_AMOUNTS])
{
    struct gv_strata_item item = {.call = call->id, .known = GV_STRATA_OWN, .stack = stack};
    int error;

    class->capture = 0;
    class->of_node = true;
    error = find_class(lines, class, &item.class);
    amounts[GV_STRATA_CALLS] = 1;
    for (int i = 0; i < GV_STRATA_AMOUNTS; i++)
        item.amounts[i] = amounts[i];
    return error ? error : gv_strata_add(&lines->strata, &item);
}

static int add_item(struct gv_lines *lines, struct gv_lines_class *class,
                    struct gv_lines_call *call, uint64_t what, int64_t duration_ns,
                    const int64_t amounts[GV_STRATA_AMOUNTS])
{
    const struct gv_lines_call *forward = gv_lines_forward(lines, call);
    const struct gv_lines_call *of = forward ? forward : call; /* whose line counts */
    struct gv_lines_thread *thread = gv_lines_thread_of(lines, call->thread);
    struct gv_strata_item item = {
        .call = of->id,
        /* A word mixed with itself is nothing: from 0 on. */
        .keys = {gv_mix(gv_mix(0, of->self), call->self),
                 gv_mix(gv_mix(gv_mix(gv_mix(0, of->thread), call->thread), what),
                        duration_class(duration_ns, 1)),
                 of->near, of->far, thread->ran, of->alike, duration_class(duration_ns, 7)},
        .chance = (double)of->chance,
        .one_of = (double)of->one_of,
        .known = (enum gv_strata_known)of->known,
        .stack = of->stack,
    };
    int error;

    class->of_forward = forward != NULL;
    error = find_class(lines, class, &item.class);

    for (int i = 0; i < GV_STRATA_AMOUNTS; i++)
        item.amounts[i] = amounts[i];
    item.amounts[GV_STRATA_CALLS] = call->id && !call->counted;
    call->counted = true;
    thread->ran = thread->ran << 8 | (uint32_t)duration_class(duration_ns, 1);
    return error ? error : gv_strata_add(&lines->strata, &item);
}

/* Of a process without a GPU side, calls are all that is known. */
static int take_host_only(struct gv_lines *lines, struct gv_lines_call *call, int64_t thread,
                          int64_t api, int64_t gpu_ns, double error_ns)
{
    const int64_t amounts[GV_STRATA_AMOUNTS] = {
        [GV_STRATA_GPU] = gpu_ns > 0 ? gpu_ns : 0, [GV_STRATA_ERROR] = llround(error_ns)};
    struct gv_lines_class class = {
        .process = gv_id_table_get(&lines->process_of, thread, 0),
        .kind = kind_of_work(gv_id_table_get(&lines->work, api, 0)),
        .capture = call->capture,
        .host_only = gpu_ns < 0,
        .sampled = gpu_ns >= 0,
    };

    return lines->part.device < 0
               ? add_item(lines, &class, call, 0, amounts[GV_STRATA_GPU], amounts)
               : 0;
}

int gv_lines_take_call(struct gv_lines *lines, const struct gv_pass_call *row, bool counts,
                       int64_t gpu_ns, double error_ns)
{
    struct gv_lines_call call;
    int error;

    /* Those that put work on the GPU, and between them those that wait for it. */
    if (row->result != 0 || !gv_id_table_get(&lines->work, row->api, 1))
        return 0;
    read_call(lines, row, &call);
    error = gv_lines_nodes_read(lines, call.start_ns, call.id);
    if (error || !gv_id_table_get(&lines->work, row->api, 0))
        return error;
    if (call.known == GV_STRATA_CHOSEN)
        gv_lines_thread_of(lines, row->thread)->chance = 1 / call.one_of;
    gv_lines_nodes_take(lines, &call);
    lines->known[(uint64_t)call.id % GV_LINES_CALLS] = call;
    return counts && gv_id_table_get(&lines->host_only,
                                     gv_id_table_get(&lines->process_of, row->thread, 0), 0)
               ? take_host_only(lines, &lines->known[(uint64_t)call.id % GV_LINES_CALLS],
                                row->thread, row->api, gpu_ns, error_ns)
               : 0;
}

/* ---- the operations ---- */

/* The call of an operation that ran long after it, or of nothing that is known: without what came
 * before the call. */
static int read_forgotten(struct gv_lines *lines, int64_t id)
{
    struct gv_lines_call *call = &lines->forgotten;
    int result;

    if (call->id == id)
        return 0;
    *call = (struct gv_lines_call){0};
    result = sqlite3_bind_int64(lines->call, 1, id);
    if (result == SQLITE_OK)
        result = sqlite3_step(lines->call);
    if (result == SQLITE_ROW)
        *call = (struct gv_lines_call){.id = id, .start_ns = gv_time_column(lines->call, 0)};
    sqlite3_reset(lines->call);
    return gv_database_error(lines->trace, result);
}

int gv_lines_take(struct gv_lines *lines, const struct gv_lines_operation *operation)
{
    struct gv_lines_call *call;
    int64_t kind = operation->kind;
    struct gv_lines_class class = {
        .process = operation->process,
        .kind = kind >= GV_GPU_KERNEL && kind <= GV_GPU_GRAPH ? kind : GV_GPU_KERNEL,
        .name = operation->name,
        .copy_kind = kind == GV_GPU_COPY ? operation->copy_kind & 255 : 0,
    };
    int64_t amounts[GV_STRATA_AMOUNTS] = {
        [GV_STRATA_GPU] = operation->duration_ns,
        [GV_STRATA_IDLE] = operation->idle_ns,
    };
    int error = 0;

    call = &lines->known[(uint64_t)operation->call % GV_LINES_CALLS];
    if (operation->call <= 0 || call->id != operation->call) {
        error = read_forgotten(lines, operation->call);
        call = &lines->forgotten;
    }
    if (error)
        return error;
    class.capture = call->capture;
    /* The next nodes of a graph wait for the first. */
    if (call->id && operation->start_ns > call->start_ns && !(operation->is_node && call->runs))
        amounts[GV_STRATA_QUEUED] = operation->start_ns - call->start_ns;
    call->runs = true;
    if (operation->stack)
        return add_node(lines, &class, call, operation->stack, amounts);
    return add_item(lines, &class, call, gv_mix((uint64_t)operation->shape, operation->size),
                    operation->duration_ns, amounts);
}

/* ---- from the start to the end ---- */

static int take_chance(void *context, sqlite3_stmt *row)
{
    struct gv_lines *lines = context;

    gv_lines_thread_of(lines, sqlite3_column_int64(row, 0))->chance =
        1 / (float)sqlite3_column_int64(row, 1);
    return 0;
}

int gv_lines_open(struct gv_lines **made, sqlite3 *trace, const struct gv_totals_part *part)
{
    static const char sql_call[] = "SELECT start_ns FROM call WHERE id = ?";
    struct gv_lines *lines = *made = calloc(1, sizeof(*lines));
    int error;

    if (!lines)
        return -ENOMEM;
    lines->trace = trace;
    lines->part = *part;
    lines->known = calloc(GV_LINES_CALLS, sizeof(*lines->known));
    lines->nodes = calloc(GV_LINES_CALLS, sizeof(*lines->nodes));
    error = lines->known && lines->nodes
                ? gv_id_table_read(&lines->process_of, trace, "SELECT id, process FROM thread")
                : -ENOMEM;
    if (!error)
        error = gv_id_table_read(&lines->host_only, trace, sql_host_only);
    if (!error)
        error = gv_id_table_read(
            &lines->work, trace,
            "SELECT id, gpu_work, coalesce(gpu_work, 0) <> 0 OR class = 'sync' FROM api");
    if (!error)
        error = gv_lines_captures_read(lines);
    lines->threads = calloc(lines->process_of.rows + 1, sizeof(*lines->threads));
    if (!error && !lines->threads)
        error = -ENOMEM;
    if (!error)
        error = gv_database_each(trace, sql_first_chosen, NULL, 0, take_chance, lines);
    if (!error)
        error =
            gv_database_error(trace, sqlite3_prepare_v2(trace, sql_call, -1, &lines->call, NULL));
    if (!error)
        error = gv_lines_nodes_open(lines);
    return error;
}

int gv_lines_store(struct gv_lines *lines)
{
    free(lines->known); /* the memory is needed now */
    free(lines->nodes);
    lines->known = NULL;
    lines->nodes = NULL;
    return gv_lines_write(lines);
}

void gv_lines_close(struct gv_lines *lines)
{
    if (!lines)
        return;
    sqlite3_finalize(lines->call);
    sqlite3_finalize(lines->ranges);
    sqlite3_finalize(lines->range);
    sqlite3_finalize(lines->first_inside);
    gv_id_table_free(&lines->process_of);
    gv_id_table_free(&lines->host_only);
    gv_id_table_free(&lines->work);
    gv_strata_free(&lines->strata);
    gv_key_map_free(&lines->class_numbers);
    free(lines->threads);
    free(lines->known);
    free(lines->nodes);
    free(lines->captures);
    free(lines->classes);
    free(lines);
}
