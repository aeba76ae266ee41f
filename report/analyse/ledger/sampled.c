/* Of a process of which some calls were measured: what is not known of its time goes to the calls
 * that kept the GPU, for as long as calls like them did on average. */
#include "report/analyse/ledger/run.h"

#include "report/store/array.h"

#include <math.h>

/* Of more pairs, the rest is not told apart. */
#define SAMPLED_MOST 16384u

/* The phase of a lane, or the minute, that a time lies in. */
static uint32_t phase_of(const struct gv_ledger *ledger, const struct gv_ledger_lane *lane,
                         int64_t at_ns)
{
    if (ledger->by_minute)
        return at_ns > 0 ? (uint32_t)(at_ns / GV_LEDGER_MINUTE_NS) : 0;
    return at_ns < lane->main_ns ? 0 : at_ns < lane->main_end_ns ? 1 : 2;
}

static uint32_t account_of(const struct gv_ledger *ledger, uint32_t api)
{
    switch (gv_ledger_api(ledger, api, 1)) {
    case GV_GPU_WORK_KERNEL:
        return GV_ACCOUNT_KERNEL;
    case GV_GPU_WORK_GRAPH:
        return GV_ACCOUNT_GRAPH;
    default:
        return gv_ledger_api(ledger, api, 0) == GV_CLASS_SET ? GV_ACCOUNT_SET : GV_ACCOUNT_COPY;
    }
}

int gv_ledger_sampled_take(struct gv_ledger *ledger, uint32_t number,
                           const struct gv_pass_call *call, uint32_t pair)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[number];
    const struct gv_totals_part *part = &ledger->part;
    double error_ns = 0;
    int64_t ns = gv_scaled_ns(ledger->scaled, call, &error_ns), known;
    uint32_t what = account_of(ledger, call->api);
    uint32_t phase = phase_of(ledger, lane, call->key.at_ns);
    struct gv_key key = {{(uint64_t)number << 32 | pair, what, phase}};
    int error = 0;

    if (ns <= 0 || call->key.at_ns < part->from_ns || call->key.at_ns >= part->to_ns ||
        (part->thread && part->thread != call->thread) ||
        !gv_range_choice_has(part->ranges, call->key.id))
        return 0;
    known = gv_key_map_find(&ledger->sampled_numbers, &key);
    if (!known && ledger->sampled_count >= SAMPLED_MOST) {
        pair = 0;
        key.part[0] = (uint64_t)number << 32;
        known = gv_key_map_find(&ledger->sampled_numbers, &key);
    }
    if (!known) {
        error = gv_array_room(&ledger->sampled, ledger->sampled_count, &ledger->sampled_room,
                              sizeof(*ledger->sampled));
        if (error)
            return error;
        known = (int64_t)++ledger->sampled_count;
        ledger->sampled[known - 1] =
            (struct gv_ledger_sampled){.lane = number, .pair = pair, .what = what, .phase = phase};
        error = gv_key_map_add(&ledger->sampled_numbers, &key, known);
    }
    ledger->sampled[known - 1].ns += (double)ns;
    ledger->sampled[known - 1].error_ns += error_ns;
    ledger->sampled[known - 1].count++;
    return error;
}

/* Takes so much of the cells of an account and phase of the lane, of each in proportion. Returns
 * how much of that was in the first half of the phase. */
static int64_t take_from(struct gv_ledger *ledger, uint32_t lane, uint32_t what, uint32_t phase,
                         int64_t all_ns, int64_t taken_ns)
{
    int64_t before_ns = 0, first_ns = 0;

    for (size_t i = 0; i < ledger->cell_count; i++) {
        struct gv_ledger_cell *cell = &ledger->cells[i];
        int64_t ns, half_ns, until_ns;
        if (cell->lane != lane || cell->what != what || cell->phase != phase || !cell->total_ns)
            continue;
        until_ns = before_ns + cell->total_ns;
        ns = (int64_t)((__int128)until_ns * taken_ns / all_ns) -
             (int64_t)((__int128)before_ns * taken_ns / all_ns);
        before_ns = until_ns;
        half_ns = (int64_t)((__int128)cell->first_ns * ns / cell->total_ns);
        cell->total_ns -= ns;
        cell->first_ns -= half_ns;
        if (cell->total_ns == 0)
            cell->count = 0;
        first_ns += half_ns;
    }
    return first_ns;
}

static int64_t sum_of(const struct gv_ledger *ledger, uint32_t lane, uint32_t what, uint32_t phase)
{
    int64_t ns = 0;

    for (size_t i = 0; i < ledger->cell_count; i++)
        if (ledger->cells[i].lane == lane && ledger->cells[i].what == what &&
            ledger->cells[i].phase == phase)
            ns += ledger->cells[i].total_ns;
    return ns;
}

/* Gives a time to the calls of the lane and phase, by what they took: all_ns together. */
static int give(struct gv_ledger *ledger, uint32_t lane, uint32_t phase, int64_t ns,
                int64_t first_ns, double all_ns)
{
    double before_ns = 0;
    int64_t given_ns = 0, given_first_ns = 0;
    int error = 0;

    for (size_t i = 0; i < ledger->sampled_count && !error; i++) {
        const struct gv_ledger_sampled *of = &ledger->sampled[i];
        struct gv_ledger_cell *cell;
        if (of->lane != lane || of->phase != phase)
            continue;
        before_ns += of->ns;
        int64_t until_ns = (int64_t)((double)ns * fmin(before_ns / all_ns, 1));
        int64_t first_until_ns = (int64_t)((double)first_ns * fmin(before_ns / all_ns, 1));
        error =
            gv_ledger_cell_of(ledger,
                              &(struct gv_ledger_cell){
                                  .lane = lane, .pair = of->pair, .what = of->what, .phase = phase},
                              &cell);
        if (error)
            break;
        cell->total_ns += until_ns - given_ns;
        cell->first_ns += first_until_ns - given_first_ns;
        cell->count += of->count;
        cell->error_ns += of->error_ns * fmin((double)ns / all_ns, 1);
        given_ns = until_ns;
        given_first_ns = first_until_ns;
    }
    return error;
}

/* What is busy for sure stays busy, but is booked to the calls that were launched. */
static int move(struct gv_ledger *ledger, uint32_t lane, uint32_t phase, double all_ns)
{
    int64_t unknown_ns = sum_of(ledger, lane, GV_ACCOUNT_UNKNOWN, phase);
    int64_t busy_ns = sum_of(ledger, lane, GV_ACCOUNT_KERNEL, phase), taken_ns, first_ns = 0;

    taken_ns = all_ns < 9e18 ? (int64_t)all_ns : INT64_MAX;
    taken_ns = taken_ns > busy_ns ? taken_ns - busy_ns : 0;
    if (taken_ns > unknown_ns)
        taken_ns = unknown_ns;
    if (taken_ns > 0)
        first_ns = take_from(ledger, lane, GV_ACCOUNT_UNKNOWN, phase, unknown_ns, taken_ns);
    if (busy_ns > 0)
        first_ns += take_from(ledger, lane, GV_ACCOUNT_KERNEL, phase, busy_ns, busy_ns);
    ledger->lanes[lane].computing_ns += taken_ns;
    ledger->lanes[lane].is_sampled = true;
    return busy_ns + taken_ns > 0 ? give(ledger, lane, phase, busy_ns + taken_ns, first_ns, all_ns)
                                  : 0;
}

/* The first one of the lane and phase of a number: all of them together. */
static double sampled_ns(const struct gv_ledger *ledger, size_t number, bool *is_first)
{
    const struct gv_ledger_sampled *of = &ledger->sampled[number];
    double ns = 0;

    for (size_t i = 0; i < ledger->sampled_count; i++) {
        const struct gv_ledger_sampled *other = &ledger->sampled[i];
        if (other->lane != of->lane || other->phase != of->phase)
            continue;
        *is_first = i >= number;
        if (!*is_first)
            return 0;
        ns += other->ns;
    }
    return ns;
}

int gv_ledger_sampled_move(struct gv_ledger *ledger)
{
    int error = 0;

    for (size_t i = 0; i < ledger->sampled_count && !error; i++) {
        bool is_first = false;
        double ns = sampled_ns(ledger, i, &is_first);
        if (is_first)
            error = move(ledger, ledger->sampled[i].lane, ledger->sampled[i].phase, ns);
    }
    return error;
}
