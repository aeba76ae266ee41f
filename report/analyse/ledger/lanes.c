/* Which lanes the trace has, from when to when, and where their phases begin. */
#include "report/analyse/ledger/run.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

/* More are there only in a trace that is not ours. */
#define LANES_MOST 4096u

static int add_lane(struct gv_ledger *ledger, int64_t process, int64_t device)
{
    struct gv_ledger_process *of = &ledger->processes[process];
    int error;

    if (ledger->lane_count >= LANES_MOST ||
        (ledger->part.process && process != ledger->part.process) ||
        (ledger->part.device >= 0 && device >= 0 && device != ledger->part.device))
        return 0;
    error = gv_array_room(&ledger->lanes, ledger->lane_count, &ledger->lane_room,
                          sizeof(*ledger->lanes));
    if (!error)
        error = gv_array_room(&of->lanes, of->lane_count, &of->lane_room, sizeof(*of->lanes));
    if (error)
        return error;
    of->lanes[of->lane_count++] = (uint32_t)ledger->lane_count;
    ledger->lanes[ledger->lane_count++] = (struct gv_ledger_lane){
        .process = process,
        .device = device,
        .begin_ns = of->start_ns,
        .end_ns = of->end_ns > of->start_ns ? of->end_ns : of->start_ns,
        .main_ns = INT64_MAX,
        .main_end_ns = INT64_MIN,
        .first_ns = device < 0 ? of->start_ns : INT64_MAX,
        .last_ns = device < 0 ? of->end_ns : INT64_MIN,
        .busy_until_ns = of->start_ns,
        .feeder = of->first_thread,
        .next_open_ns = INT64_MAX,
    };
    return 0;
}

static int take_process(void *context, sqlite3_stmt *row)
{
    struct gv_ledger *ledger = context;
    int64_t id = sqlite3_column_int64(row, 0), first = sqlite3_column_int64(row, 4);
    bool has_ended = sqlite3_column_type(row, 2) != SQLITE_NULL;

    if (id <= 0 || (uint64_t)id >= ledger->process_count)
        return 0;
    ledger->processes[id] = (struct gv_ledger_process){
        .start_ns = gv_time_column(row, 1),
        .end_ns = gv_time_column(row, has_ended ? 2 : 1),
        .first_thread = first > 0 && (uint64_t)first < ledger->thread_count ? (uint32_t)first : 0,
        .known = true,
        .has_ended = has_ended,
        .is_measured = sqlite3_column_int(row, 3) != 0,
    };
    return 0;
}

/* One that has not ended was recorded to the last that is known of it. */
static void goes_on(struct gv_ledger *ledger, int64_t process, int64_t until_ns)
{
    if (process <= 0 || (uint64_t)process >= ledger->process_count)
        return;
    struct gv_ledger_process *of = &ledger->processes[process];
    if (!of->has_ended && until_ns > of->end_ns)
        of->end_ns = until_ns;
}

static int take_last_look(void *context, sqlite3_stmt *row)
{
    goes_on(context, sqlite3_column_int64(row, 0), gv_time_column(row, 1));
    return 0;
}

/* Of processes that have not ended, until when they called; of those without a GPU side, whether
 * that was work. In one reading: a job has many. */
static int read_calls(struct gv_ledger *ledger)
{
    const struct gv_pass_call *call = NULL;
    bool is_asked = false;
    int error = 0;

    for (size_t id = 1; id < ledger->process_count; id++)
        is_asked |= ledger->processes[id].known &&
                    !(ledger->processes[id].has_ended && ledger->processes[id].is_measured);
    if (!is_asked)
        return 0;
    error = gv_database_each(ledger->trace, sql_last_looks, NULL, 0, take_last_look, ledger);
    if (!error)
        error = gv_pass_begin_calls(ledger->pass);
    while (!error && !(error = gv_pass_next_call(ledger->pass, &call)) && call) {
        if (call->thread >= ledger->thread_count)
            continue;
        uint32_t process = ledger->threads[call->thread].process;
        goes_on(ledger, process, call->key.end_ns);
        ledger->processes[process].works |= gv_ledger_api(ledger, call->api, 1) != 0;
    }
    for (size_t id = 1; id < ledger->process_count && !error; id++)
        if (ledger->processes[id].works && !ledger->processes[id].is_measured &&
            ledger->processes[id].known)
            error = add_lane(ledger, (int64_t)id, -1);
    return error;
}

/* The third column of a place becomes its lane, + 1. */
static int find_lanes(struct gv_ledger *ledger)
{
    int error = 0;

    for (size_t id = 1; id < ledger->places.rows && !error; id++) {
        const struct gv_pass_times times = gv_pass_times_of_place(ledger->pass, (int64_t)id);
        int64_t process = gv_id_table_get(&ledger->places, (int64_t)id, 0);
        int64_t device = gv_id_table_get(&ledger->places, (int64_t)id, 1);
        size_t lane = 0;
        if (times.first_ns > times.last_ns || process <= 0 ||
            (uint64_t)process >= ledger->process_count || !ledger->processes[process].known)
            continue;
        while (lane < ledger->lane_count &&
               (ledger->lanes[lane].process != process || ledger->lanes[lane].device != device))
            lane++;
        if (lane == ledger->lane_count)
            error = add_lane(ledger, process, device);
        if (error || lane == ledger->lane_count)
            continue;
        struct gv_ledger_lane *of = &ledger->lanes[lane];
        ledger->places.values[id * ledger->places.columns + 2] = (int64_t)lane + 1;
        of->main_ns = times.first_ns < of->main_ns ? times.first_ns : of->main_ns;
        of->main_end_ns = times.last_ns > of->main_end_ns ? times.last_ns : of->main_end_ns;
        of->first_ns = of->main_ns;
        of->last_ns = of->main_end_ns;
        of->work_ns = gv_time_sum(of->work_ns, times.total_ns);
    }
    return error;
}

static int take_steps(void *context, sqlite3_stmt *row)
{
    struct gv_ledger *ledger = context;
    int64_t process = sqlite3_column_int64(row, 0), series = sqlite3_column_int64(row, 1);
    int64_t from_ns = gv_time_column(row, 2), until_ns = gv_time_column(row, 3);
    int64_t gpu_ns = gv_time_column_duration(row, 4), work_ns = 0;

    if (process <= 0 || (uint64_t)process >= ledger->process_count)
        return 0;
    const struct gv_ledger_process *of = &ledger->processes[process];
    for (size_t i = 0; i < of->lane_count; i++)
        work_ns = gv_time_sum(work_ns, ledger->lanes[of->lanes[i]].work_ns);
    for (size_t i = 0; i < of->lane_count && gpu_ns >= work_ns / 2; i++) {
        struct gv_ledger_lane *lane = &ledger->lanes[of->lanes[i]];
        lane->step_series = series;
        lane->steps = sqlite3_column_int64(row, 5);
        lane->main_ns = from_ns;
        lane->main_end_ns = until_ns;
    }
    return 0;
}

/* Within the lane, and in order. */
static void settle_phases(struct gv_ledger_lane *lane)
{
    if (lane->main_ns == INT64_MAX) {
        lane->main_ns = lane->begin_ns;
        lane->main_end_ns = lane->end_ns;
    }
    if (lane->main_ns < lane->begin_ns)
        lane->main_ns = lane->begin_ns;
    if (lane->main_ns > lane->end_ns)
        lane->main_ns = lane->end_ns;
    if (lane->main_end_ns > lane->end_ns)
        lane->main_end_ns = lane->end_ns;
    if (lane->main_end_ns < lane->main_ns)
        lane->main_end_ns = lane->main_ns;
}

int64_t gv_ledger_unseen(const struct gv_ledger *ledger, const struct gv_ledger_lane *lane,
                         int64_t *from_ns, int64_t *until_ns)
{
    const size_t at = lane->unseen_at;

    if (lane->device < 0 && at < ledger->stopped.count) {
        const struct gv_stopped_time *time = &ledger->stopped.times[at];
        *from_ns = time->start_ns;
        *until_ns = time->end_ns;
        return time->process;
    }
    if (lane->device >= 0 && at < ledger->unseen.count) {
        const struct gv_gpu_unseen *time = &ledger->unseen.times[at];
        *from_ns = time->known_ns;
        *until_ns = time->until_ns;
        return time->process;
    }
    return -1;
}

/* The lists have the times of a process one after the other. */
static void find_unseen(const struct gv_ledger *ledger, struct gv_ledger_lane *lane)
{
    int64_t process, from_ns, until_ns;

    while ((process = gv_ledger_unseen(ledger, lane, &from_ns, &until_ns)) >= 0 &&
           process != lane->process)
        lane->unseen_at++;
}

int gv_ledger_lanes_find(struct gv_ledger *ledger)
{
    int error = gv_database_each(ledger->trace, sql_processes, NULL, 0, take_process, ledger);

    if (!error)
        error = read_calls(ledger);
    if (!error)
        error = find_lanes(ledger);
    if (!error)
        error = gv_database_each(ledger->trace, sql_steps, NULL, 0, take_steps, ledger);
    for (size_t i = 0; i < ledger->lane_count; i++) {
        settle_phases(&ledger->lanes[i]);
        find_unseen(ledger, &ledger->lanes[i]);
    }
    return error;
}
