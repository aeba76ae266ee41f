/* Of a process of which some calls were measured: what is not known of its time goes to the calls
 * that kept the GPU, for as long as calls like them did on average. */
#include "report/analyse/ledger/run.h"

#include "report/store/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

/* A cell that time is taken from; the number of a cell stays. */
struct place {
    uint32_t lane, phase, what, cell;
};

/* Of places, and of struct gv_ledger_sampled, which begins like them. */
static int by_place(const void *left, const void *right)
{
    const uint32_t *one = left, *other = right;
    int i = 0;

    while (i < 3 && one[i] == other[i])
        i++;
    return (one[i] > other[i]) - (one[i] < other[i]);
}

/* The cells of one account, in one lane and phase. */
struct places {
    const struct place *first;
    size_t count;
    int64_t ns;
};

/* `place`: the first one that is not of an earlier lane or phase. */
static struct places places_of(const struct gv_ledger *ledger, const struct place *place,
                               const struct place *end, const struct gv_ledger_sampled *of,
                               uint32_t what)
{
    struct places found = {0};

    for (; place < end && place->lane == of->lane && place->phase == of->phase; place++)
        if (place->what == what) {
            found.first = found.count++ ? found.first : place;
            found.ns += ledger->cells[place->cell].total_ns;
        }
    return found;
}

/* Takes so much of the cells, of each in proportion. Returns how much of that was in the first half
 * of the phase. */
static int64_t take_from(struct gv_ledger *ledger, const struct places *places, int64_t taken_ns)
{
    int64_t before_ns = 0, first_ns = 0;

    for (size_t i = 0; i < places->count; i++) {
        struct gv_ledger_cell *cell = &ledger->cells[places->first[i].cell];
        int64_t ns, half_ns, until_ns;
        if (!cell->total_ns)
            continue;
        until_ns = before_ns + cell->total_ns;
        ns = (int64_t)((__int128)until_ns * taken_ns / places->ns) -
             (int64_t)((__int128)before_ns * taken_ns / places->ns);
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

/* Gives a time to the calls of a lane and phase, by what they took: all_ns together. */
static int give(struct gv_ledger *ledger, const struct gv_ledger_sampled *of,
                const struct gv_ledger_sampled *end, int64_t ns, int64_t first_ns, double all_ns)
{
    double before_ns = 0;
    int64_t given_ns = 0, given_first_ns = 0;
    int error = 0;

    for (; of < end && !error; of++) {
        struct gv_ledger_cell *cell;
        before_ns += of->ns;
        int64_t until_ns = (int64_t)((double)ns * fmin(before_ns / all_ns, 1));
        int64_t first_until_ns = (int64_t)((double)first_ns * fmin(before_ns / all_ns, 1));
        error = gv_ledger_cell_of(
            ledger,
            &(struct gv_ledger_cell){
                .lane = of->lane, .pair = of->pair, .what = of->what, .phase = of->phase},
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
static int move(struct gv_ledger *ledger, const struct gv_ledger_sampled *of,
                const struct gv_ledger_sampled *end, const struct place *place,
                const struct place *places_end)
{
    struct places unknown = places_of(ledger, place, places_end, of, GV_ACCOUNT_UNKNOWN);
    struct places busy = places_of(ledger, place, places_end, of, GV_ACCOUNT_KERNEL);
    int64_t taken_ns, first_ns = 0;
    double all_ns = 0;

    for (const struct gv_ledger_sampled *one = of; one < end; one++)
        all_ns += one->ns;
    taken_ns = all_ns < 9e18 ? (int64_t)all_ns : INT64_MAX;
    taken_ns = taken_ns > busy.ns ? taken_ns - busy.ns : 0;
    if (taken_ns > unknown.ns)
        taken_ns = unknown.ns;
    if (taken_ns > 0)
        first_ns = take_from(ledger, &unknown, taken_ns);
    if (busy.ns > 0)
        first_ns += take_from(ledger, &busy, busy.ns);
    ledger->lanes[of->lane].computing_ns += taken_ns;
    ledger->lanes[of->lane].is_sampled = true;
    return busy.ns + taken_ns > 0 ? give(ledger, of, end, busy.ns + taken_ns, first_ns, all_ns) : 0;
}

static struct place *list_places(const struct gv_ledger *ledger, size_t *count)
{
    struct place *places = calloc(ledger->cell_count + 1, sizeof(*places));

    *count = 0;
    for (size_t i = 0; places && i < ledger->cell_count; i++) {
        const struct gv_ledger_cell *cell = &ledger->cells[i];
        if (cell->what == GV_ACCOUNT_UNKNOWN || cell->what == GV_ACCOUNT_KERNEL)
            places[(*count)++] = (struct place){cell->lane, cell->phase, cell->what, (uint32_t)i};
    }
    if (places)
        qsort(places, *count, sizeof(*places), by_place);
    return places;
}

int gv_ledger_sampled_move(struct gv_ledger *ledger)
{
    struct gv_ledger_sampled *of = ledger->sampled, *end = of + ledger->sampled_count, *next;
    const struct place *place, *places_end;
    struct place *places;
    size_t count;
    int error = 0;

    if (!ledger->sampled_count)
        return 0;
    places = list_places(ledger, &count);
    if (!places)
        return -ENOMEM;
    qsort(of, ledger->sampled_count, sizeof(*of), by_place);
    place = places;
    places_end = places + count;
    for (; of < end && !error; of = next) {
        for (next = of; next < end && next->lane == of->lane && next->phase == of->phase;)
            next++;
        while (place < places_end &&
               (place->lane < of->lane || (place->lane == of->lane && place->phase < of->phase)))
            place++;
        error = move(ledger, of, next, place, places_end);
    }
    free(places);
    return error;
}
