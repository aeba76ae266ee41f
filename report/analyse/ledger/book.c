/* Books pieces of time into cells. */
#include "report/analyse/ledger/minutes.h"
#include "report/analyse/ledger/uses.h"

#include "report/store/array.h"

/* More are the rest: their pieces keep lane, phase and account. */
#define PAIRS_MOST   8192u
#define CELLS_MOST   65536u
#define TALLIES_MOST 131072u

static int add_pair(struct gv_ledger *ledger, const struct gv_key *key,
                    const struct gv_ledger_pair *wanted, uint32_t *pair)
{
    int error = gv_array_room(&ledger->pairs, ledger->pair_count, &ledger->pair_room,
                              sizeof(*ledger->pairs));

    if (error)
        return error;
    *pair = (uint32_t)ledger->pair_count;
    ledger->pairs[ledger->pair_count++] = *wanted;
    return *pair ? gv_key_map_add(&ledger->pair_numbers, key, *pair) : 0;
}

int gv_ledger_pair_of(struct gv_ledger *ledger, uint32_t thread, uint64_t before, uint64_t after,
                      uint32_t *pair)
{
    const struct gv_key key = {{before, after, thread}};

    *pair = (uint32_t)gv_key_map_find(&ledger->pair_numbers, &key);
    if (*pair)
        return 0;
    if (ledger->pair_count >= PAIRS_MOST && before != GV_LEDGER_ANY)
        return gv_ledger_pair_of(ledger, thread, GV_LEDGER_ANY, after, pair);
    if (ledger->pair_count >= 2 * PAIRS_MOST)
        return 0;
    const struct gv_ledger_pair wanted = {.thread = thread, .before = before, .after = after};
    return add_pair(ledger, &key, &wanted, pair);
}

int gv_ledger_pair_long(struct gv_ledger *ledger, uint32_t *pair)
{
    struct gv_ledger_pair wanted = ledger->pairs[*pair];
    /* Beside those of pair_of(), whose threads have numbers of 32 bits. */
    const struct gv_key key = {{wanted.before, wanted.after, wanted.thread | UINT64_C(1) << 32}};

    if (!*pair)
        return 0;
    wanted.shorter = *pair;
    wanted.tallies = 0;
    *pair = (uint32_t)gv_key_map_find(&ledger->pair_numbers, &key);
    return *pair || ledger->pair_count >= 2 * PAIRS_MOST ? 0
                                                         : add_pair(ledger, &key, &wanted, pair);
}

static int tally_of(struct gv_ledger *ledger, uint32_t pair, const struct gv_ledger_tally *of,
                    struct gv_ledger_tally **tally)
{
    const struct gv_key key = {{pair, of->verdict, of->stack | (uint64_t)of->is_early << 32}};
    int64_t known = gv_key_map_find(&ledger->tally_numbers, &key);
    int error;

    *tally = known ? &ledger->tallies[known - 1] : NULL;
    if (known || ledger->tally_count >= TALLIES_MOST)
        return 0;
    error = gv_array_room(&ledger->tallies, ledger->tally_count, &ledger->tally_room,
                          sizeof(*ledger->tallies));
    if (error)
        return error;
    *tally = &ledger->tallies[ledger->tally_count++];
    **tally = (struct gv_ledger_tally){.next = ledger->pairs[pair].tallies,
                                       .stack = of->stack,
                                       .verdict = of->verdict,
                                       .is_early = of->is_early};
    ledger->pairs[pair].tallies = (uint32_t)ledger->tally_count;
    return gv_key_map_add(&ledger->tally_numbers, &key, (int64_t)ledger->tally_count);
}

static int count_in(struct gv_ledger *ledger, uint32_t pair, const struct gv_ledger_tally *add)
{
    struct gv_ledger_tally *tally;
    int error = tally_of(ledger, pair, add, &tally);

    if (error || !tally)
        return error;
    tally->weight += add->weight;
    tally->others += add->others;
    return 0;
}

/* Of the pair, of all that have its second call in common, of all that have its function, as each
 * round may launch a kernel that it has just compiled or a graph that it has just made, and of the
 * thread. */
static int count(struct gv_ledger *ledger, uint32_t pair, const struct gv_ledger_tally *add)
{
    const struct gv_ledger_pair of = ledger->pairs[pair];
    struct gv_ledger_tally of_thread = *add;
    uint32_t any;
    int error = count_in(ledger, pair, add);

    if (error || !pair || of.shorter || of.before == GV_LEDGER_ANY)
        return error;
    error = gv_ledger_pair_of(ledger, of.thread, GV_LEDGER_ANY, of.after, &any);
    if (!error && any)
        error = count_in(ledger, any, add);
    if (error || !(add->verdict || gv_ledger_launches_graph(ledger, of.after)))
        return error;
    if (of.after != GV_LEDGER_FUNCTION(of.after)) {
        error =
            gv_ledger_pair_of(ledger, of.thread, GV_LEDGER_ANY, GV_LEDGER_FUNCTION(of.after), &any);
        if (!error && any)
            error = count_in(ledger, any, add);
    }
    if (error || !add->verdict)
        return error;
    error = gv_ledger_pair_of(ledger, of.thread, GV_LEDGER_ANY, GV_LEDGER_ANY, &any);
    of_thread.stack = 0;
    return error || !any ? error : count_in(ledger, any, &of_thread);
}

int gv_ledger_count_look(struct gv_ledger *ledger, uint32_t pair, uint32_t verdict, uint32_t stack,
                         bool is_early)
{
    return count(ledger, pair,
                 &(const struct gv_ledger_tally){
                     .verdict = verdict + 1, .stack = stack, .is_early = is_early, .weight = 1});
}

int gv_ledger_count_stack(struct gv_ledger *ledger, uint32_t pair, uint32_t stack, uint32_t one_of)
{
    return count(ledger, pair,
                 &(const struct gv_ledger_tally){
                     .stack = stack, .weight = one_of, .others = one_of ? 0 : 1});
}

/* The number of the cell, + 1. */
static int cell_of(struct gv_ledger *ledger, const struct gv_ledger_cell *wanted, size_t *number)
{
    /* There are less than 2^16 pairs, accounts and lanes. */
    const struct gv_key key = {
        {(uint64_t)wanted->pair << 48 | (uint64_t)wanted->what << 32 | wanted->phase,
         (uint64_t)wanted->stack << 32 | wanted->verdict,
         (uint64_t)wanted->claimer_pair << 48 | (uint64_t)wanted->lane << 32 |
             wanted->claimer_stack}};
    int64_t known = gv_key_map_find(&ledger->cell_numbers, &key);
    int error;

    *number = (size_t)known;
    if (known)
        return 0;
    if (ledger->cell_count >= CELLS_MOST &&
        (wanted->pair || wanted->stack || wanted->verdict || wanted->claimer_pair)) {
        const struct gv_ledger_cell rest = {
            .lane = wanted->lane, .what = wanted->what, .phase = wanted->phase};
        return cell_of(ledger, &rest, number);
    }
    error = gv_array_room(&ledger->cells, ledger->cell_count, &ledger->cell_room,
                          sizeof(*ledger->cells));
    if (error)
        return error;
    ledger->cells[ledger->cell_count] = *wanted;
    *number = ++ledger->cell_count;
    return gv_key_map_add(&ledger->cell_numbers, &key, (int64_t)*number);
}

int gv_ledger_cell_of(struct gv_ledger *ledger, const struct gv_ledger_cell *wanted,
                      struct gv_ledger_cell **cell)
{
    size_t number;
    int error = cell_of(ledger, wanted, &number);

    *cell = error ? NULL : &ledger->cells[number - 1];
    return error;
}

bool gv_ledger_is_lost(const struct gv_ledger_lane *lane, uint32_t what)
{
    return what >= GV_ACCOUNTS || (gv_account_say(what).group == GV_ACCOUNT_LOST &&
                                   !(what == GV_ACCOUNT_UNKNOWN && lane->device < 0));
}

struct bounds {
    int64_t low_ns, high_ns;
};

static struct bounds bounds_of(const struct gv_ledger_lane *lane, uint32_t phase)
{
    const int64_t borders[] = {lane->begin_ns, lane->main_ns, lane->main_end_ns, lane->end_ns};

    return (struct bounds){borders[phase], borders[phase + 1]};
}

static int64_t within_half(int64_t from_ns, int64_t to_ns, struct bounds of)
{
    return gv_ledger_within(from_ns, to_ns, of.low_ns, of.low_ns + (of.high_ns - of.low_ns) / 2);
}

static int book_in_phase(struct gv_ledger *ledger, uint32_t number, uint32_t phase,
                         const struct gv_ledger_piece *piece, bool counts)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    const struct bounds of = bounds_of(lane, phase);
    int64_t ns = gv_ledger_within(piece->from_ns, piece->to_ns, of.low_ns, of.high_ns);
    int64_t first_ns = within_half(piece->from_ns, piece->to_ns, of);
    const struct gv_ledger_cell wanted = {.lane = number,
                                          .pair = piece->pair,
                                          .stack = piece->stack,
                                          .verdict = piece->verdict,
                                          .what = piece->what,
                                          .phase = phase};
    struct gv_ledger_cell *cell;
    size_t at;
    int error = ns ? cell_of(ledger, &wanted, &at) : 0;

    if (error || !ns)
        return error;
    cell = &ledger->cells[at - 1];
    cell->booked_ns += ns;
    cell->booked_count += counts;
    cell->before_copy_ns += piece->before_copy ? ns : 0;
    cell->awaited_ns += piece->awaited ? ns : 0;
    const struct gv_ledger_idle_piece part = {
        .cell = (uint32_t)at - 1,
        .from_ns = piece->from_ns > of.low_ns ? piece->from_ns : of.low_ns,
        .to_ns = piece->to_ns < of.high_ns ? piece->to_ns : of.high_ns};
    error = gv_ledger_minutes_book(ledger, at - 1, part.from_ns, part.to_ns, counts, false);
    if (!error && ledger->idle.is_open && gv_ledger_is_idle(piece->what))
        error = gv_ledger_idle_note(ledger, part);
    if (error)
        return error;
    if (!gv_ledger_is_lost(lane, piece->what) || lane->waited_ns == 0) {
        cell->total_ns += ns;
        cell->first_ns += first_ns;
        cell->count += counts;
        if (piece->what <= GV_ACCOUNT_COLLECTIVE)
            lane->busy_cell = at;
        return 0;
    }
    if (cell->open_ns == 0) {
        error = gv_array_room(&lane->open, lane->open_count, &lane->open_room, sizeof(*lane->open));
        if (error)
            return error;
        lane->open[lane->open_count++] = (uint32_t)(at - 1);
    }
    cell->open_ns += ns;
    cell->open_first_ns += first_ns;
    cell->open_count += counts;
    return 0;
}

/* A piece counts in the phase in which it begins. */
static int book_in_part(struct gv_ledger *ledger, uint32_t number,
                        const struct gv_ledger_piece *piece)
{
    int error = 0;

    gv_ledger_use_note(ledger, number, piece, false);
    for (uint32_t phase = 0; phase < GV_LEDGER_PHASES && !error; phase++)
        error = book_in_phase(ledger, number, phase, piece,
                              piece->from_ns >= bounds_of(&ledger->lanes[number], phase).low_ns);
    return error;
}

typedef int take_piece(struct gv_ledger *ledger, uint32_t number,
                       const struct gv_ledger_piece *piece);

/* Of a piece, those that are in the part of the run. */
static int each_in_part(struct gv_ledger *ledger, uint32_t number,
                        const struct gv_ledger_piece *piece, take_piece *take)
{
    const struct gv_totals_part *part = &ledger->part;
    struct gv_ledger_piece cut = *piece;
    int error = 0;

    if (part->thread && ledger->pairs[piece->pair].thread != part->thread)
        return 0;
    cut.from_ns = cut.from_ns > part->from_ns ? cut.from_ns : part->from_ns;
    cut.to_ns = cut.to_ns < part->to_ns ? cut.to_ns : part->to_ns;
    if (!part->ranges)
        return cut.to_ns > cut.from_ns ? take(ledger, number, &cut) : 0;
    for (int64_t end_ns = cut.to_ns;
         !error && cut.to_ns > cut.from_ns &&
         gv_range_choice_cut(part->ranges, ledger->lanes[number].process, &cut.from_ns, &cut.to_ns);
         cut.from_ns = cut.to_ns, cut.to_ns = end_ns)
        error = take(ledger, number, &cut);
    return error;
}

int gv_ledger_book(struct gv_ledger *ledger, uint32_t number, const struct gv_ledger_piece *piece)
{
    return each_in_part(ledger, number, piece, book_in_part);
}

static int take_back_in_part(struct gv_ledger *ledger, uint32_t number,
                             const struct gv_ledger_piece *piece)
{
    const size_t at = ledger->lanes[number].busy_cell - 1;
    struct gv_ledger_cell *cell = &ledger->cells[at];

    cell->total_ns -= piece->to_ns - piece->from_ns;
    cell->first_ns -=
        within_half(piece->from_ns, piece->to_ns, bounds_of(&ledger->lanes[number], cell->phase));
    gv_ledger_use_note(ledger, number, piece, true);
    return gv_ledger_minutes_book(ledger, at, piece->from_ns, piece->to_ns, 0, true);
}

int gv_ledger_take_back(struct gv_ledger *ledger, uint32_t number, int64_t *from_ns, int64_t *to_ns)
{
    const struct gv_ledger_cell *cell = &ledger->cells[ledger->lanes[number].busy_cell - 1];
    const struct bounds of = bounds_of(&ledger->lanes[number], cell->phase);

    *from_ns = *from_ns > of.low_ns ? *from_ns : of.low_ns;
    *to_ns = *to_ns < of.high_ns ? *to_ns : of.high_ns;
    return each_in_part(
        ledger, number,
        &(const struct gv_ledger_piece){
            .from_ns = *from_ns, .to_ns = *to_ns, .pair = cell->pair, .what = cell->what},
        take_back_in_part);
}

/* The part of `ns` that `share` of `of` is, rounded down. */
static int64_t part_of(int64_t ns, int64_t share, int64_t of)
{
    return of > 0 ? (int64_t)((__int128)ns * share / of) : 0;
}

/* Splits what is open between its cells and those that the wait claims, so that nothing is lost. */
int gv_ledger_open(struct gv_ledger *ledger, uint32_t number, int64_t waited_ns, uint32_t pair,
                   uint32_t stack)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    int64_t idle_ns = 0, before_ns = 0, claim_ns;
    int error = 0;

    for (size_t i = 0; i < lane->open_count; i++)
        idle_ns += ledger->cells[lane->open[i]].open_ns;
    claim_ns = lane->waited_ns < idle_ns ? lane->waited_ns : idle_ns;
    for (size_t i = 0; i < lane->open_count && !error; i++) {
        struct gv_ledger_cell cell = ledger->cells[lane->open[i]];
        int64_t after_ns = before_ns + cell.open_ns;
        int64_t part_ns =
            part_of(after_ns, claim_ns, idle_ns) - part_of(before_ns, claim_ns, idle_ns);
        int64_t first_ns = part_of(cell.open_first_ns, part_ns, cell.open_ns);
        bool is_most = part_ns > cell.open_ns - part_ns;
        struct gv_ledger_cell *rest = &ledger->cells[lane->open[i]];
        size_t at;
        before_ns = after_ns;
        rest->total_ns += cell.open_ns - part_ns;
        rest->first_ns += cell.open_first_ns - first_ns;
        rest->count += is_most ? 0 : cell.open_count;
        rest->open_ns = rest->open_first_ns = rest->open_count = 0;
        if (part_ns == 0)
            continue;
        struct gv_ledger_cell claimed = {.lane = cell.lane,
                                         .pair = cell.pair,
                                         .stack = cell.stack,
                                         .verdict = cell.verdict,
                                         .what = cell.what,
                                         .phase = cell.phase,
                                         .claimer_pair = lane->opener_pair,
                                         .claimer_stack = lane->opener_stack};
        error = cell_of(ledger, &claimed, &at);
        if (error)
            break;
        ledger->cells[at - 1].total_ns += part_ns;
        ledger->cells[at - 1].booked_ns = cell.booked_ns;
        ledger->cells[at - 1].booked_count = cell.booked_count;
        ledger->cells[at - 1].before_copy_ns = cell.before_copy_ns;
        ledger->cells[at - 1].awaited_ns = cell.awaited_ns;
        ledger->cells[at - 1].first_ns += first_ns;
        ledger->cells[at - 1].count += is_most ? cell.open_count : 0;
        error = gv_ledger_minutes_claim(ledger, lane->open[i], at - 1, part_ns);
    }
    lane->open_count = 0;
    lane->waited_ns = waited_ns;
    lane->opener_pair = pair + 1;
    lane->opener_stack = stack;
    return error;
}
