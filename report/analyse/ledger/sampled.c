/* Of a process of which some calls were measured: what is not known of its time goes to the calls
 * that kept the GPU, for as long as calls like them did on average. */
#include "report/analyse/ledger/run.h"

#include "report/store/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of more pairs, the rest is not told apart. */
#define SAMPLED_MOST 16384u

/* The phase of a lane that a time lies in. */
static uint32_t phase_of(const struct gv_ledger_lane *lane, int64_t at_ns)
{
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
    double error_ns;
    int64_t ns = gv_scaled_ns(ledger->scaled, call, &error_ns), known;
    uint32_t what = account_of(ledger, call->api);
    uint32_t phase = phase_of(lane, call->key.at_ns);
    struct gv_key key = {{(uint64_t)number << 32 | pair, what, phase}};
    int error = 0;

    if (ns <= 0 || call->key.at_ns < part->from_ns || call->key.at_ns >= part->to_ns ||
        (part->thread && part->thread != call->thread) ||
        !gv_range_choice_has(part->ranges, call->key.id) ||
        gv_stopped_has(&ledger->stopped, lane->process, call->key.at_ns))
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

/* A phase of a lane, in which calls were measured. */
struct share {
    uint32_t lane;
    double all_ns, before_ns; /* what its calls took; those that have got their time */
    int64_t unknown_ns, busy_ns, taken_ns, passed_ns; /* taken_ns: of what is unknown */
    int64_t moved_ns, first_ns, given_ns, given_first_ns;
    uint32_t group; /* a cell from which time is moved, + 1: all share its minutes */
};

struct shares {
    struct gv_key_map numbers;
    struct share *of;
    size_t count;
};

static struct share *share_of(const struct shares *shares, uint32_t lane, uint32_t phase)
{
    int64_t number = gv_key_map_find(&shares->numbers, &(struct gv_key){{lane, phase}});

    return number ? &shares->of[number - 1] : NULL;
}

/* The share of a cell from which time is moved; NULL: none is moved from this one. */
static struct share *share_of_cell(const struct shares *shares, const struct gv_ledger_cell *cell)
{
    return cell->what == GV_ACCOUNT_UNKNOWN || cell->what == GV_ACCOUNT_KERNEL
               ? share_of(shares, cell->lane, cell->phase)
               : NULL;
}

static int list_shares(const struct gv_ledger *ledger, struct shares *shares)
{
    int error = 0;

    shares->of = calloc(ledger->sampled_count, sizeof(*shares->of));
    if (!shares->of)
        return -ENOMEM;
    for (size_t i = 0; i < ledger->sampled_count && !error; i++) {
        const struct gv_ledger_sampled *of = &ledger->sampled[i];
        struct share *share = share_of(shares, of->lane, of->phase);
        if (!share) {
            share = &shares->of[shares->count++];
            share->lane = of->lane;
            error = gv_key_map_add(&shares->numbers, &(struct gv_key){{of->lane, of->phase}},
                                   (int64_t)shares->count);
        }
        share->all_ns += of->ns;
    }
    for (size_t i = 0; i < ledger->cell_count; i++) {
        const struct gv_ledger_cell *cell = &ledger->cells[i];
        struct share *share = share_of_cell(shares, cell);
        if (share && !share->group)
            share->group = (uint32_t)i + 1;
        if (share)
            *(cell->what == GV_ACCOUNT_KERNEL ? &share->busy_ns : &share->unknown_ns) +=
                cell->total_ns;
    }
    return error;
}

/* What is busy for sure stays busy, but is booked to the calls that were launched. Their other time
 * comes from what is unknown. */
static void decide(struct gv_ledger *ledger, struct share *share)
{
    int64_t wanted_ns = share->all_ns < 9e18 ? (int64_t)share->all_ns : INT64_MAX;

    share->taken_ns = wanted_ns > share->busy_ns ? wanted_ns - share->busy_ns : 0;
    if (share->taken_ns > share->unknown_ns)
        share->taken_ns = share->unknown_ns;
    share->moved_ns = share->busy_ns + share->taken_ns;
    ledger->lanes[share->lane].computing_ns += share->taken_ns;
    ledger->lanes[share->lane].is_sampled = true;
}

/* All that is busy; of what is unknown, of each cell in proportion. */
static void take(struct gv_ledger_cell *cell, struct share *share)
{
    int64_t ns = cell->total_ns, half_ns, until_ns = share->passed_ns + ns;

    if (!ns)
        return;
    if (cell->what == GV_ACCOUNT_UNKNOWN) {
        ns = (int64_t)((__int128)until_ns * share->taken_ns / share->unknown_ns) -
             (int64_t)((__int128)share->passed_ns * share->taken_ns / share->unknown_ns);
        share->passed_ns = until_ns;
    }
    half_ns = (int64_t)((__int128)cell->first_ns * ns / cell->total_ns);
    cell->total_ns -= ns;
    cell->first_ns -= half_ns;
    if (cell->total_ns == 0)
        cell->count = 0;
    share->first_ns += half_ns;
    cell->group = share->group;
}

/* Gives what was taken to the calls, by what they took. */
static int give(struct gv_ledger *ledger, const struct gv_ledger_sampled *of, struct share *share)
{
    const struct gv_ledger_cell wanted = {
        .lane = of->lane, .pair = of->pair, .what = of->what, .phase = of->phase};
    double part = fmin((share->before_ns += of->ns) / share->all_ns, 1);
    int64_t until_ns = (int64_t)((double)share->moved_ns * part);
    int64_t first_until_ns = (int64_t)((double)share->first_ns * part);
    struct gv_ledger_cell *cell;
    int error = share->moved_ns > 0 ? gv_ledger_cell_of(ledger, &wanted, &cell) : 0;

    if (error || share->moved_ns <= 0)
        return error;
    cell->group = share->group;
    cell->total_ns += until_ns - share->given_ns;
    cell->first_ns += first_until_ns - share->given_first_ns;
    cell->count += of->count;
    cell->error_ns += of->error_ns * fmin((double)share->moved_ns / share->all_ns, 1);
    share->given_ns = until_ns;
    share->given_first_ns = first_until_ns;
    return 0;
}

int gv_ledger_sampled_move(struct gv_ledger *ledger)
{
    struct shares shares = {0};
    int error = ledger->sampled_count ? list_shares(ledger, &shares) : 0;

    for (size_t i = 0; i < shares.count && !error; i++)
        decide(ledger, &shares.of[i]);
    for (size_t i = 0; i < ledger->cell_count && !error && shares.count; i++) {
        struct share *share = share_of_cell(&shares, &ledger->cells[i]);
        if (share)
            take(&ledger->cells[i], share);
    }
    for (size_t i = 0; i < ledger->sampled_count && !error; i++) {
        const struct gv_ledger_sampled *of = &ledger->sampled[i];
        error = give(ledger, of, share_of(&shares, of->lane, of->phase));
    }
    gv_key_map_free(&shares.numbers);
    free(shares.of);
    return error;
}
