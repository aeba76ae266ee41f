/* Sums of the calls, without the waits in them. */
#include "report/analyse/totals/run.h"

#include "report/store/time_sum.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

static void totals_launched(struct gv_totals_run *run, int64_t kernel, int64_t duration_ns)
{
    if (kernel <= 0 || (uint64_t)kernel >= run->kernel_ids.rows)
        return;
    struct gv_totals_launches *launches = &run->launches[kernel];
    run->launched_kernels += launches->count++ == 0;
    launches->total_ns = gv_time_sum(launches->total_ns, duration_ns);
}

static void totals_blocking(struct gv_totals_run *run, int64_t process, int64_t duration_ns)
{
    if (!gv_id_table_get(&run->blocking, process, 0))
        return;
    run->blocking_launches++;
    run->blocking_ns = gv_time_sum(run->blocking_ns, duration_ns);
}

static void totals_failed(struct gv_totals_run *run, int64_t api, int64_t result)
{
    size_t i = 0;

    run->api_sums[api].errors++;
    while (i < run->error_count && (run->errors[i].api != api || run->errors[i].result != result))
        i++;
    if (i == GV_TOTALS_ERRORS)
        return;
    if (i == run->error_count)
        run->errors[run->error_count++] = (struct gv_totals_error){api, result, 0};
    run->errors[i].count++;
}

static void totals_span(struct gv_totals_run *run, enum gv_totals_class class, int64_t start_ns,
                        int64_t end_ns)
{
    if (!run->spans || start_ns < run->first_ns)
        run->first_ns = start_ns;
    if (!run->spans || end_ns > run->last_ns)
        run->last_ns = end_ns;
    run->spans = true;
    if (class == GV_TOTALS_SYNC)
        gv_lane_add(&run->waiting, start_ns, end_ns);
    else if (class == GV_TOTALS_LOAD)
        gv_lane_add(&run->loading, start_ns, end_ns);
}

/* What a thread launches while it captures becomes part of a graph; the rest may be graphs. */
static void totals_captured(struct gv_totals_run *run, struct gv_totals_thread *thread,
                            const struct gv_pass_call *call, enum gv_totals_class class)
{
    int64_t marks = gv_id_table_get(&run->apis, call->api, 2);

    if (marks && (call->result == 0 || marks != 1))
        thread->captures = marks == 1;
    if (class != GV_TOTALS_LAUNCH)
        return;
    if (call->result == 0 && thread->captures)
        run->captured_launches++;
    else if (gv_id_table_get(&run->apis, call->api, 3) == GV_GPU_WORK_GRAPH)
        run->graph_launches++;
}

static void totals_of_thread(struct gv_totals_thread *thread, int64_t start_ns, int64_t end_ns,
                             int64_t last_ns, int64_t count)
{
    if (thread->count == 0 || start_ns < thread->first_ns)
        thread->first_ns = start_ns;
    if (thread->count == 0 || last_ns > thread->last_ns)
        thread->last_ns = last_ns;
    thread->count = gv_time_sum(thread->count, count);
    thread->total_ns = gv_time_sum(thread->total_ns, end_ns - start_ns);
}

static void totals_starting(struct gv_totals_run *run, int64_t call)
{
    if (run->first_starting == 0 || call < run->first_starting)
        run->first_starting = call;
    if (run->last_starting == 0 || call > run->last_starting)
        run->last_starting = call;
}

bool gv_totals_takes(const struct gv_totals_run *run, const struct gv_pass_call *call)
{
    int64_t process = gv_id_table_get(&run->threads, call->thread, 0);

    return (!run->part.thread || call->thread == run->part.thread) &&
           (!run->part.process || process == run->part.process) &&
           gv_totals_in_part(run, call->key.at_ns) &&
           gv_range_choice_has(run->part.ranges, call->key.id) &&
           !gv_stopped_has(&run->stopped, process, call->key.at_ns);
}

/* A call that counts for nothing else may change memory, or free a block of the chosen ranges. */
static int totals_beside(struct gv_totals_run *run, const struct gv_pass_call *call, int64_t before)
{
    int64_t space = call->result == 0 ? gv_id_table_get(&run->memory, call->api, 0) : 0;

    if ((run->part.thread && call->thread != run->part.thread) ||
        (run->part.process &&
         gv_id_table_get(&run->threads, call->thread, 0) != run->part.process) ||
        !gv_totals_in_part(run, call->key.at_ns) ||
        space <= (gv_range_choice_has(run->part.ranges, call->key.id) ? 0 : GV_MEMORY_PHYSICAL))
        return 0;
    return gv_totals_memory_call(run, call, before);
}

int gv_totals_call(void *context, const struct gv_pass_call *call)
{
    struct gv_totals_run *run = context;
    uint32_t api = call->api;
    int64_t start_ns = call->key.at_ns, end_ns = start_ns + call->duration_ns;
    int64_t count = call->folded ? call->folded : 1;
    int64_t last_ns = count > 1 ? call->key.end_ns : end_ns;
    enum gv_totals_class class = (enum gv_totals_class)gv_id_table_get(&run->apis, api, 0);
    int64_t process = gv_id_table_get(&run->threads, call->thread, 0);
    int64_t before = gv_totals_memory_context(run, call), gpu_ns;
    bool counts = gv_totals_takes(run, call);
    double error_ns;
    int error;

    gpu_ns = gv_scaled_ns(run->scaled, call, &error_ns);
    error = gv_lines_take_call(run->lines, call, counts, gpu_ns, error_ns);

    run->starts_of[(uint64_t)call->key.id % GV_TOTALS_STARTS] =
        (struct gv_totals_start){call->key.id, start_ns};
    if (error || !counts)
        return error ? error : totals_beside(run, call, before);
    totals_span(run, class, start_ns, last_ns);
    run->calls = gv_time_sum(run->calls, count);
    run->class_count[class] = gv_time_sum(run->class_count[class], count);
    run->class_ns[class] = gv_time_sum(run->class_ns[class], end_ns - start_ns);
    if (call->thread && call->thread < run->threads.rows) {
        totals_of_thread(&run->thread_times[call->thread], start_ns, end_ns, last_ns, count);
        totals_captured(run, &run->thread_times[call->thread], call, class);
    }
    if (!api || api >= run->apis.rows)
        return 0;
    if (gv_result_is_failure(gv_id_table_get(&run->apis, api, 1), call->result))
        totals_failed(run, api, call->result);
    if (call->bytes > 0 && call->bytes < INT64_C(1) << 48)
        run->api_sums[api].bytes = gv_time_sum(run->api_sums[api].bytes, call->bytes);
    if (class == GV_TOTALS_LAUNCH && call->result == 0)
        totals_launched(run, call->kernel, end_ns - start_ns);
    else if (class == GV_TOTALS_LAUNCH)
        run->launch_failed++;
    if (class == GV_TOTALS_LAUNCH)
        totals_blocking(run, process, end_ns - start_ns);
    if (gv_id_table_get(&run->memory, api, 0))
        gv_totals_memory_refused(run, call);
    const struct gv_range_pass_row done = {
        .call = {call->key.id, call->thread, process, start_ns},
        .api = api,
        .duration_ns = end_ns - start_ns,
        .result = call->result,
        .bytes = call->bytes,
        .count = count,
    };
    error = gv_range_pass_call(run->range_pass, &done);
    if (!error && gv_scaled_add(run->scaled, call) >= 0)
        error = gv_range_pass_operation(run->range_pass, call->key.id, gpu_ns);
    if (!error && gv_id_table_get(&run->memory, api, 0) && call->result == 0)
        error = gv_totals_memory_call(run, call, before);
    if (gv_id_table_get(&run->starts, api, 0))
        totals_starting(run, call->key.id);
    if (!error)
        error = gv_duration_total_add(&run->api_sums[api].time, (end_ns - start_ns) / count, count);
    if (!error) /* what the division lost */
        run->api_sums[api].time.total_ns =
            gv_time_sum(run->api_sums[api].time.total_ns, (end_ns - start_ns) % count);
    return error;
}

/* An unfinished call is not in the tables, but its time belongs to the run. */
static int totals_flight(void *context, sqlite3_stmt *row)
{
    struct gv_totals_run *run = context;
    int64_t process = sqlite3_column_int64(row, 0), thread = sqlite3_column_int64(row, 1);
    int64_t start_ns = gv_time_column(row, 2), seen_ns = gv_time_column(row, 3);
    enum gv_totals_class class =
        (enum gv_totals_class)gv_id_table_get(&run->apis, sqlite3_column_int64(row, 4), 0);

    if ((run->part.thread && thread != run->part.thread) ||
        (run->part.process && process != run->part.process) || !gv_totals_in_part(run, start_ns) ||
        run->part.ranges || seen_ns <= start_ns)
        return 0;
    totals_span(run, class, start_ns, seen_ns);
    if (thread > 0 && (uint64_t)thread < run->threads.rows) {
        struct gv_totals_thread *times = &run->thread_times[thread];
        times->total_ns = gv_time_sum(times->total_ns, seen_ns - start_ns);
        times->last_ns = seen_ns > times->last_ns ? seen_ns : times->last_ns;
    }
    return 0;
}

int gv_totals_calls_end(struct gv_totals_run *run)
{
    int error = gv_range_pass_busy_end(run->range_pass);

    if (!error)
        error = gv_range_pass_end(run->range_pass);
    if (!error)
        error = gv_totals_memory_end(run);
    return error ? error : gv_database_each(run->trace, sql_flights, NULL, 0, totals_flight, run);
}

int gv_totals_recorded(struct gv_totals_run *run)
{
    const struct gv_totals_part *part = &run->part;
    struct gv_recorded window = {0};
    int error = run->stopped.count == 0
                    ? 0
                    : gv_recorded_read(run->trace, part->process, part->from_ns, part->to_ns,
                                       run->last_ns, &run->recorded);

    if (!error && run->stopped.count > 0)
        error = gv_recorded_read(run->trace, part->process, run->first_ns, run->last_ns,
                                 run->last_ns, &window);
    run->stopped_ns = window.all_ns - window.recorded_ns;
    return error;
}
