/* Splits cells by what was seen of their pairs: looks outside of calls, stacks of calls. */
#include "report/analyse/ledger/minutes.h"
#include "report/analyse/ledger/rows.h"

#include "report/analyse/names/places.h"
#include "report/analyse_ledger_ledger.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <stdlib.h>

struct part {
    uint32_t what, stack, verdict; /* verdict: + 1 */
    uint32_t pair;                 /* the stack is that of its second call; 0: other */
    double weight;
};

/* What takes so long between two calls, on average, is no launching. */
#define LAUNCHING_MOST_NS INT64_C(1000000)
#define PARTS_MOST        128u
/* Native work before so many loads of code that lies in no file made that code. */
#define BUILDS_LEAST 3u
#define CLAIMS_MOST  32u
#define HARDLY       8 /* times as often it was elsewhere */
#define SEEN_LEAST   3

struct parts {
    struct part *list;
    size_t count, room;
    double total, seen; /* of all weights; how many looks or stacks stand behind them */
};

struct splitting {
    struct gv_ledger *ledger;
    struct gv_ledger_rows *rows;
    struct parts own, claims;
};

static int add_part(struct parts *parts, uint32_t what, uint32_t stack, uint32_t verdict,
                    double weight)
{
    int error = gv_array_room(&parts->list, parts->count, &parts->room, sizeof(*parts->list));

    if (error)
        return error;
    parts->list[parts->count++] = (struct part){what, stack, verdict, 0, weight};
    parts->total += weight;
    return 0;
}

static int compare_parts(const void *left, const void *right)
{
    const struct part *one = left, *other = right;

    return one->weight > other->weight ? -1 : one->weight < other->weight;
}

/* The largest so many stand for all. */
static void keep_largest(struct parts *parts, size_t most)
{
    if (parts->count <= most)
        return;
    qsort(parts->list, parts->count, sizeof(*parts->list), compare_parts);
    parts->count = most;
    parts->total = 0;
    for (size_t i = 0; i < most; i++)
        parts->total += parts->list[i].weight;
}

static void clear(struct parts *parts)
{
    parts->count = 0;
    parts->total = parts->seen = 0;
}

/* ---- what was seen of a pair ---- */

/* What a look says of a piece of this pair. A library's compiler has no frames of Python. */
static uint32_t told(const struct gv_ledger *ledger, uint32_t pair, uint32_t what)
{
    if (ledger->pairs[pair].shorter)
        pair = ledger->pairs[pair].shorter;
    return what == GV_ACCOUNT_NATIVE && ledger->pairs[pair].builds >= BUILDS_LEAST
               ? GV_ACCOUNT_COMPILE
               : what;
}

static int add_looks(const struct gv_ledger *ledger, uint32_t pair, bool late, bool early,
                     struct parts *parts)
{
    int error = 0;

    for (uint32_t at = ledger->pairs[pair].tallies; at && !error;
         at = ledger->tallies[at - 1].next) {
        const struct gv_ledger_tally *tally = &ledger->tallies[at - 1];
        /* That nobody asked for anything is said only of the piece in which it was seen. */
        if (!tally->verdict || ledger->verdicts[tally->verdict - 1].what == GV_ACCOUNT_NO_REQUEST ||
            !(tally->is_early ? early : late))
            continue;
        parts->seen += tally->weight;
        error = add_part(parts, told(ledger, pair, ledger->verdicts[tally->verdict - 1].what),
                         tally->stack, tally->verdict, tally->weight);
    }
    return error;
}

/* Looks before the main phase tell the start, later ones the rest; others only where there are
 * none: what was compiled before the loop is not compiled in it. */
static int take_looks(const struct gv_ledger *ledger, const struct gv_ledger_cell *cell,
                      uint32_t pair, struct parts *parts)
{
    bool early = cell->phase == GV_LEDGER_START;
    int error = add_looks(ledger, pair, !early, early, parts);

    return error || parts->count ? error : add_looks(ledger, pair, true, true, parts);
}

/* Calls that were chosen at random tell it without a bias; others only where there are none. */
static int take_stacks(const struct gv_ledger *ledger, uint32_t pair, uint32_t what, bool chosen,
                       struct parts *parts)
{
    int error = 0;

    for (uint32_t at = ledger->pairs[pair].tallies; at && !error;
         at = ledger->tallies[at - 1].next) {
        const struct gv_ledger_tally *tally = &ledger->tallies[at - 1];
        double weight = chosen ? tally->weight : tally->others;
        if (tally->verdict || weight <= 0)
            continue;
        parts->seen++;
        error = add_part(parts, what, tally->stack, 0, weight);
    }
    return error;
}

static int take_stacks_of(const struct gv_ledger *ledger, uint32_t pair, uint32_t what,
                          struct parts *parts)
{
    int error = take_stacks(ledger, pair, what, true, parts);

    return error || parts->count ? error : take_stacks(ledger, pair, what, false, parts);
}

/* Of a pair that nothing was seen of, other pairs before the call `after` may have been seen, and
 * if it launches a graph, launches of other graphs. */
static uint32_t others_before(const struct gv_ledger *ledger, uint32_t pair, uint64_t after)
{
    const struct gv_key key = {{GV_LEDGER_ANY, after, ledger->pairs[pair].thread}};

    return pair ? (uint32_t)gv_key_map_find(&ledger->pair_numbers, &key) : 0;
}

static uint32_t others_of(const struct gv_ledger *ledger, uint32_t pair)
{
    return others_before(ledger, pair, ledger->pairs[pair].after);
}

static uint32_t others_of_function(const struct gv_ledger *ledger, uint32_t pair)
{
    return others_before(ledger, pair, GV_LEDGER_FUNCTION(ledger->pairs[pair].after));
}

static int seen_stacks(const struct gv_ledger *ledger, uint32_t pair, uint32_t what,
                       struct parts *parts)
{
    if (ledger->pairs[pair].shorter)
        pair = ledger->pairs[pair].shorter;
    int error = take_stacks_of(ledger, pair, what, parts);

    if (!error && !parts->count)
        error = take_stacks_of(ledger, others_of(ledger, pair), what, parts);
    if (!error && !parts->count && gv_ledger_launches_graph(ledger, ledger->pairs[pair].after))
        error = take_stacks_of(ledger, others_of_function(ledger, pair), what, parts);
    return error;
}

static int stacks_of(const struct gv_ledger *ledger, uint32_t pair, uint32_t what,
                     struct parts *parts)
{
    int error = seen_stacks(ledger, pair, what, parts);

    if (!error && !parts->count)
        error = add_part(parts, what, 0, 0, 1);
    return error;
}

/* The host ran, and nothing special. */
static bool is_plain(uint32_t what)
{
    return what == GV_ACCOUNT_PYTHON || what == GV_ACCOUNT_NATIVE || what == GV_ACCOUNT_UNKNOWN ||
           what == GV_ACCOUNT_THREAD_LOCK || what == GV_ACCOUNT_GPUVERIFY;
}

/* A thread that was looked at, but not in this pair: it ran as it does elsewhere, on the way to the
 * call that follows. */
static int take_running(const struct gv_ledger *ledger, const struct gv_ledger_cell *cell,
                        struct parts *parts)
{
    uint32_t thread = others_before(ledger, cell->pair, GV_LEDGER_ANY);
    size_t kept = 0;
    int error = thread ? take_looks(ledger, cell, thread, parts) : 0;

    parts->total = 0;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->list[i].what != GV_ACCOUNT_PYTHON && parts->list[i].what != GV_ACCOUNT_NATIVE)
            continue;
        parts->total += parts->list[i].weight;
        parts->list[kept++] = parts->list[i];
    }
    parts->count = kept;
    parts->seen = 0; /* in this pair */
    return error;
}

static int outside_parts(const struct gv_ledger *ledger, const struct gv_ledger_cell *cell,
                         struct parts *parts)
{
    double plain = 0;
    int64_t mean_ns = cell->booked_ns / (cell->booked_count ? cell->booked_count : 1);
    bool is_long = ledger->pairs[cell->pair].shorter != 0;
    int error = take_looks(ledger, cell, cell->pair, parts);

    if (!error && !is_long && !parts->count && cell->what == GV_LEDGER_OUTSIDE)
        error = take_looks(ledger, cell, others_of(ledger, cell->pair), parts);
    if (!error && !is_long && !parts->count && cell->what == GV_LEDGER_OUTSIDE &&
        (mean_ns >= LAUNCHING_MOST_NS ||
         gv_ledger_launches_graph(ledger, ledger->pairs[cell->pair].after)))
        error = take_looks(ledger, cell, others_of_function(ledger, cell->pair), parts);
    if (!error && !is_long && !parts->count && cell->what == GV_LEDGER_OUTSIDE)
        error = take_running(ledger, cell, parts);
    for (size_t i = 0; i < parts->count; i++)
        plain += is_plain(parts->list[i].what) ? parts->list[i].weight : 0;
    if (error || (parts->count && (cell->what == GV_LEDGER_OUTSIDE || plain < parts->total / 2)))
        return error;
    clear(parts);
    return stacks_of(ledger, cell->pair,
                     cell->what == GV_LEDGER_SHORT ? GV_ACCOUNT_LAUNCHING : GV_ACCOUNT_HOST_CODE,
                     parts);
}

/* Looks at native code have no stack: it is the way to the call that follows. */
static int find_lines(const struct gv_ledger *ledger, uint32_t pair, struct parts *parts,
                      struct parts *lines)
{
    size_t count;
    bool is_read = false;
    int error = 0;

    keep_largest(parts, PARTS_MOST);
    count = parts->count;
    clear(lines);
    for (size_t i = 0; i < count && !error; i++) {
        const struct part part = parts->list[i];
        if (part.stack || !part.verdict)
            continue;
        if (!is_read)
            error = seen_stacks(ledger, pair, 0, lines);
        keep_largest(lines, CLAIMS_MOST);
        is_read = true;
        parts->total -= lines->count ? part.weight : 0;
        for (size_t j = 0; j < lines->count && !error; j++) {
            double weight = part.weight * lines->list[j].weight / lines->total;
            if (j > 0) {
                error = add_part(parts, part.what, lines->list[j].stack, part.verdict, weight);
                if (!error)
                    parts->list[parts->count - 1].pair = pair;
                continue;
            }
            parts->list[i].stack = lines->list[j].stack;
            parts->list[i].pair = pair;
            parts->list[i].weight = weight;
            parts->total += weight;
        }
    }
    return error;
}

/* A thread that looks saw more often without a CPU than with one: the verdict of these, + 1. A call
 * that nothing else explains waited for a CPU, too: what the kernel counts for it is a least time.
 */
static uint32_t starved(const struct gv_ledger *ledger, const struct gv_ledger_cell *cell)
{
    double running = 0, ready = 0;
    uint32_t verdict = 0, thread = others_before(ledger, cell->pair, GV_LEDGER_ANY);

    for (uint32_t at = thread ? ledger->pairs[thread].tallies : 0; at;
         at = ledger->tallies[at - 1].next) {
        const struct gv_ledger_tally *tally = &ledger->tallies[at - 1];
        uint32_t what =
            tally->verdict ? ledger->verdicts[tally->verdict - 1].what : GV_ACCOUNT_UNKNOWN;
        running += what == GV_ACCOUNT_PYTHON || what == GV_ACCOUNT_NATIVE ? tally->weight : 0;
        ready += what == GV_ACCOUNT_NO_CPU ? tally->weight : 0;
        verdict = what == GV_ACCOUNT_NO_CPU ? tally->verdict : verdict;
    }
    return ready > running ? verdict : 0;
}

static int cell_parts(const struct gv_ledger *ledger, const struct gv_ledger_cell *cell,
                      struct parts *parts, struct parts *lines)
{
    uint32_t what = told(ledger, cell->pair, cell->what), verdict = cell->verdict;
    int error;

    if (what == GV_ACCOUNTS + GV_CAUSE_UNKNOWN && (verdict = starved(ledger, cell)) != 0)
        what = GV_ACCOUNT_NO_CPU;
    clear(parts);
    if (cell->what >= GV_LEDGER_OUTSIDE)
        error = outside_parts(ledger, cell, parts);
    else if (cell->stack || cell->verdict || !cell->pair)
        error = add_part(parts, what, cell->stack, verdict, 1);
    else
        error = stacks_of(ledger, cell->pair, what, parts);
    for (size_t i = 0; i < parts->count && verdict; i++)
        parts->list[i].verdict = verdict;
    return error || !cell->pair ? error : find_lines(ledger, cell->pair, parts, lines);
}

/* ---- rows ---- */

static int add_row(struct splitting *splitting, const struct gv_ledger_row *wanted,
                   const struct gv_ledger_cell *cell, int64_t ns, double share, double variance)
{
    struct gv_ledger_rows *rows = splitting->rows;
    const struct gv_key key = {
        {(uint64_t)wanted->lane << 48 | (uint64_t)wanted->what << 32 | wanted->phase,
         (uint64_t)wanted->place, (uint64_t)wanted->claimed}};
    int64_t number = gv_key_map_find(&rows->numbers, &key);
    struct gv_ledger_row *row;
    int error = 0;

    if (!number) {
        error = gv_array_room(&rows->rows, rows->count, &rows->room, sizeof(*rows->rows));
        if (error)
            return error;
        rows->rows[rows->count] = *wanted;
        number = (int64_t)++rows->count;
        error = gv_key_map_add(&rows->numbers, &key, number);
    }
    row = &rows->rows[number - 1];
    row->total_ns += ns;
    row->first_ns += (int64_t)((__int128)cell->first_ns * ns / cell->total_ns);
    row->count += (int64_t)((double)cell->count * share + 0.5);
    if (cell->booked_ns) { /* else it was estimated from samples */
        row->before_copy_ns += (int64_t)((__int128)cell->before_copy_ns * ns / cell->booked_ns);
        row->awaited_ns += (int64_t)((__int128)cell->awaited_ns * ns / cell->booked_ns);
    }
    row->variance += variance;
    row->error_ns += cell->error_ns * share;
    row->sampled |= wanted->sampled;
    if (ns > row->most_ns) {
        row->most_ns = ns;
        row->stack = wanted->stack;
        row->claimed_stack = wanted->claimed_stack;
        row->verdict = wanted->verdict;
        row->borrowed = wanted->borrowed;
        row->api = wanted->api;
        row->pair = wanted->pair;
        row->cell_pair = wanted->cell_pair;
    }
    return gv_ledger_minutes_deal(splitting->ledger, (size_t)(cell - splitting->ledger->cells),
                                  (size_t)number - 1, ns);
}

static const struct gv_ledger_seen_at *most_seen(const struct gv_ledger_seen_at *list)
{
    const struct gv_ledger_seen_at *most = list;

    for (size_t i = 1; i < GV_LEDGER_SEEN_AT; i++)
        if (list[i].looks > most->looks)
            most = &list[i];
    return most;
}

/* Where the program's first thread waits for one that has no frames of the program; or, if it
 * hardly does, where it is most of the time. */
static uint32_t borrowed(const struct gv_ledger *ledger, uint32_t thread)
{
    const struct gv_ledger_process *process = &ledger->processes[ledger->threads[thread].process];
    const struct gv_ledger_seen_at *waited = most_seen(process->waited_at);
    const struct gv_ledger_seen_at *was = most_seen(process->was_at);

    if (thread == process->first_thread)
        return 0;
    if (waited->looks && waited->looks >= was->looks / HARDLY)
        return waited->stack;
    return was->looks >= SEEN_LEAST ? was->stack : 0;
}

/* Whether a stack has a line of the program. */
static int has_own(struct gv_ledger *ledger, uint32_t stack, bool *has)
{
    const struct gv_key key = {{stack, 1, 0}};
    int64_t known = gv_key_map_find(&ledger->stack_reasons, &key), id = stack, own = 0;
    int error = 0;

    if (!known && stack) {
        error = gv_database_number(ledger->trace, sql_has_own, &id, 1, &own);
        known = own ? 2 : 1;
        if (!error)
            error = gv_key_map_add(&ledger->stack_reasons, &key, known);
    }
    *has = known == 2;
    return error;
}

static int borrow(struct gv_ledger *ledger, uint32_t thread, uint32_t *stack, bool *is_borrowed)
{
    uint32_t instead = borrowed(ledger, thread);
    bool has = true;
    int error = instead ? has_own(ledger, *stack, &has) : 0;

    *is_borrowed = !has;
    if (!has)
        *stack = instead;
    return error;
}

static int place_of(struct splitting *splitting, uint32_t stack, int64_t *place)
{
    *place = 0;
    return stack
               ? gv_place_of_stack(splitting->ledger->trace, &splitting->rows->places, stack, place)
               : 0;
}

/* Work that is needed is lost because of the wait before it: overlapping is what helps. What can be
 * left out is lost by itself. */
static bool is_needed(uint32_t what)
{
    switch (what) {
    case GV_ACCOUNT_PYTHON:
    case GV_ACCOUNT_NATIVE:
    case GV_ACCOUNT_HOST_CODE:
    case GV_ACCOUNT_LAUNCHING:
    case GV_ACCOUNT_COPYING:
    case GV_ACCOUNT_ROUND_TRIP:
    case GV_ACCOUNT_OTHER_DEVICE:
    case GV_ACCOUNT_BETWEEN_KERNELS:
    case GV_ACCOUNT_UNKNOWN:
        return true;
    default:
        return false;
    }
}

/* A call is a part of what it was made for, and so is what its wait claims. */
static int name_purpose(struct gv_ledger *ledger, struct gv_ledger_row *row, bool *is_claimed)
{
    uint32_t purpose = row->what, wait = GV_ACCOUNT_WAITS;
    bool is_busy = row->what <= GV_ACCOUNT_SET;
    int error = gv_ledger_purpose(ledger, row->stack, &purpose);

    if (!error && row->claimed_stack)
        error = gv_ledger_purpose(ledger, row->claimed_stack, &wait);
    if (!error && is_busy && purpose == GV_ACCOUNT_NAN_CHECK)
        purpose = GV_ACCOUNT_NAN_KERNEL;
    if (error || (is_busy && (purpose == row->what || !gv_account_is_work(purpose))))
        return error;
    if (row->what < GV_ACCOUNT_COMPILE || row->what == GV_ACCOUNT_HOST_CODE ||
        row->what >= GV_ACCOUNTS)
        row->what = purpose;
    if (!is_needed(row->what))
        *is_claimed = false;
    if (wait != GV_ACCOUNT_WAITS) {
        row->what = wait;
        row->stack = row->claimed_stack;
        row->claimed_stack = 0;
        *is_claimed = false;
    }
    return 0;
}

static int split_cell(struct splitting *splitting, const struct gv_ledger_cell *cell)
{
    const struct parts *own = &splitting->own, *claims = &splitting->claims;
    struct gv_ledger_deal deal = {.amount = cell->total_ns};
    uint32_t pair = cell->claimer_pair ? cell->claimer_pair - 1 : cell->pair;
    uint32_t api = GV_LEDGER_API(splitting->ledger->pairs[pair].after);
    int error = cell_parts(splitting->ledger, cell, &splitting->own, &splitting->claims);

    clear(&splitting->claims);
    if (!error && cell->claimer_pair && cell->claimer_stack)
        error = add_part(&splitting->claims, GV_ACCOUNT_WAITS, cell->claimer_stack, 0, 1);
    else if (!error && cell->claimer_pair)
        error = stacks_of(splitting->ledger, cell->claimer_pair - 1, GV_ACCOUNT_WAITS,
                          &splitting->claims);
    else if (!error)
        error = add_part(&splitting->claims, GV_ACCOUNT_UNKNOWN, 0, 0, 1);
    keep_largest(&splitting->own, PARTS_MOST);
    keep_largest(&splitting->claims, CLAIMS_MOST);
    for (size_t i = 0; i < own->count && !error; i++) {
        for (size_t j = 0; j < claims->count && !error; j++) {
            const struct part *part = &own->list[i], *claim = &claims->list[j];
            double share = part->weight / own->total * (claim->weight / claims->total);
            double p = part->weight / own->total;
            struct gv_ledger_row row = {.lane = cell->lane,
                                        .what = part->what,
                                        .phase = cell->phase,
                                        .stack = part->stack,
                                        .claimed_stack = cell->claimer_pair ? claim->stack : 0,
                                        .verdict = part->verdict,
                                        .sampled = own->seen > 0,
                                        .api = api,
                                        .cell_pair = cell->pair,
                                        .pair = part->pair};
            bool is_claimed = cell->claimer_pair != 0;
            int64_t part_ns =
                gv_ledger_deal(&deal, share, i + 1 == own->count && j + 1 == claims->count);
            if (part_ns == 0)
                continue;
            error = name_purpose(splitting->ledger, &row, &is_claimed);
            if (!is_claimed && row.stack == part->stack) /* lost by itself */
                row.api = GV_LEDGER_API(splitting->ledger->pairs[cell->pair].after);
            /* What the GPU computes is told where it was launched; what it waits for, where that
             * was asked for. */
            if (!error && (row.what > GV_ACCOUNT_SET || row.what == GV_ACCOUNT_COPY_EXPOSED ||
                           row.what == GV_ACCOUNT_COPY_PAGEABLE))
                error = borrow(splitting->ledger, splitting->ledger->pairs[cell->pair].thread,
                               &row.stack, &row.borrowed);
            if (!error && is_claimed)
                error = borrow(splitting->ledger, splitting->ledger->pairs[pair].thread,
                               &row.claimed_stack, &row.borrowed);
            if (!error)
                error = place_of(splitting, row.stack, &row.place);
            if (!error && is_claimed) {
                error = place_of(splitting, row.claimed_stack, &row.claimed);
                row.claimed = row.claimed ? row.claimed : -1; /* somebody's */
            }
            double ns = (double)part_ns;
            if (!error)
                error = add_row(splitting, &row, cell, part_ns, share,
                                own->seen > 0 ? ns * ns / p * (1 - p) / own->seen
                                : cell->what >= GV_LEDGER_OUTSIDE ? ns * ns
                                                                  : 0);
        }
    }
    return error;
}

static int add_share(struct splitting *splitting, const struct gv_ledger_cell *cell,
                     const struct part *part, struct gv_ledger_share *shares, size_t *count)
{
    struct gv_ledger_row row = {.what = part->what, .stack = part->stack};
    bool is_claimed = false;
    int64_t place;
    int error = name_purpose(splitting->ledger, &row, &is_claimed);

    if (!error)
        error = borrow(splitting->ledger, splitting->ledger->pairs[cell->pair].thread, &row.stack,
                       &row.borrowed);
    if (!error)
        error = place_of(splitting, row.stack, &place);
    if (error)
        return error;
    size_t at = 0;
    while (at < *count && (shares[at].what != row.what || shares[at].place != place))
        at++;
    if (at == *count)
        shares[(*count)++] = (struct gv_ledger_share){
            .what = row.what, .stack = row.stack, .verdict = part->verdict, .place = place};
    shares[at].share += part->weight / splitting->own.total;
    shares[at].seen += part->verdict && splitting->own.seen > 0 ? part->weight : 0;
    return 0;
}

int gv_ledger_shares(struct gv_ledger *ledger, struct gv_ledger_rows *rows,
                     const struct gv_ledger_cell *cell,
                     struct gv_ledger_share shares[GV_LEDGER_SHARES_MOST], size_t *count)
{
    struct splitting splitting = {.ledger = ledger, .rows = rows};
    int error = cell_parts(ledger, cell, &splitting.own, &splitting.claims);

    *count = 0;
    keep_largest(&splitting.own, GV_LEDGER_SHARES_MOST);
    for (size_t i = 0; i < splitting.own.count && !error; i++)
        error = add_share(&splitting, cell, &splitting.own.list[i], shares, count);
    free(splitting.own.list);
    free(splitting.claims.list);
    return error;
}

int gv_ledger_place_before(struct gv_ledger *ledger, struct gv_ledger_rows *rows, uint32_t pair,
                           int64_t *place)
{
    const uint64_t before = ledger->pairs[pair].before;
    struct parts parts = {.count = 0};
    int error = before && before != GV_LEDGER_ANY
                    ? take_stacks_of(ledger, others_before(ledger, pair, before), 0, &parts)
                    : 0;
    double all = parts.total;

    *place = 0;
    keep_largest(&parts, 1);
    if (!error && parts.count && parts.list[0].weight > all / 2)
        error = gv_place_of_stack(ledger->trace, &rows->places, parts.list[0].stack, place);
    free(parts.list);
    return error;
}

int gv_ledger_split(struct gv_ledger *ledger, struct gv_ledger_rows *rows)
{
    struct splitting splitting = {.ledger = ledger, .rows = rows};
    int error = 0;

    for (size_t i = 0; i < ledger->cell_count && !error; i++)
        if (ledger->cells[i].total_ns > 0)
            error = split_cell(&splitting, &ledger->cells[i]);
    free(splitting.own.list);
    free(splitting.claims.list);
    return error;
}

void gv_ledger_rows_free(struct gv_ledger_rows *rows)
{
    gv_key_map_free(&rows->numbers);
    gv_places_free(&rows->places);
    free(rows->rows);
}
