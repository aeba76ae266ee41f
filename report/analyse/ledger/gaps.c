/* Books the idle time of a lane: whose it was, piece by piece, in the order of time. */
#include "report/analyse/ledger/run.h"

#include "report/store/array.h"
#include "trace/call_table.h"

/* Less of the host between two calls that only launch is launching. */
#define SHORT_NS 100000
/* A queue that goes on after less than this waited for nothing. */
#define BETWEEN_NS 10000
/* Each look at a longer piece stands for the time around it; shorter pieces are told by all looks
 * at pieces between the same calls. */
#define LOOKED_AT_NS 5000000
/* A call that asks for no wait has waited for the device if it returned so soon afterwards:
 * cudaFree does within 0.4 ms, but pinning 100 MB takes 30 ms, and the device may end meanwhile. */
#define SOON_NS 1000000
/* A call that took so long, and has a stack of its own, is told by that alone. */
#define OWN_STACK_NS 1000000

struct walk {
    struct gv_ledger *ledger;
    uint32_t lane;
    int64_t cursor_ns;
    size_t look_count; /* in ledger->looks_seen: entries of looks since the last call */
};

/* ---- pieces ---- */

/* Idle time of which the opener is known. */
static int book_opened(struct walk *walk, struct gv_ledger_piece piece)
{
    struct gv_ledger_lane *lane = &walk->ledger->lanes[walk->lane];
    int64_t to_ns = piece.to_ns;
    int error = 0;

    if (piece.from_ns < lane->next_open_ns && lane->next_open_ns < to_ns) {
        piece.to_ns = lane->next_open_ns;
        error = gv_ledger_book(walk->ledger, walk->lane, &piece);
        piece.from_ns = lane->next_open_ns;
        piece.to_ns = to_ns;
    }
    if (!error && piece.from_ns >= lane->next_open_ns) {
        lane->next_open_ns = INT64_MAX;
        error = gv_ledger_open(walk->ledger, walk->lane, lane->next_waited_ns, lane->next_pair,
                               lane->next_stack);
    }
    return error ? error : gv_ledger_book(walk->ledger, walk->lane, &piece);
}

/* Whether the next copy of the gap is one to the device, by another thread. */
static bool is_before_copy(const struct walk *walk, const struct gv_ledger_piece *piece)
{
    const struct gv_ledger_lane *lane = &walk->ledger->lanes[walk->lane];
    const struct gv_ledger_pair *pairs = walk->ledger->pairs;
    const struct gv_ledger_span *next;

    if (lane->copy_at >= lane->copy_count)
        return false;
    next = &lane->copies[lane->copy_at];
    return next->to_device && pairs[next->pair].thread != pairs[piece->pair].thread;
}

/* The next work was queued already, or the host waited, too: else the copy ran beside its work. */
static bool waits_for_copies(uint32_t what)
{
    return what == GV_ACCOUNT_QUEUED || what == GV_ACCOUNT_BETWEEN_KERNELS ||
           what == GV_ACCOUNT_ROUND_TRIP || what == GV_ACCOUNT_COPYING;
}

/* Copies in it are no idle time. */
static int book_without_copies(struct walk *walk, struct gv_ledger_piece piece)
{
    struct gv_ledger_lane *lane = &walk->ledger->lanes[walk->lane];
    const int64_t to_ns = piece.to_ns;
    int error = 0;

    for (; lane->copy_at < lane->copy_count && !error; lane->copy_at++) {
        const struct gv_ledger_span *copy = &lane->copies[lane->copy_at];
        struct gv_ledger_piece copied = {
            .pair = copy->pair, .stack = copy->stack, .what = copy->what};
        if (copy->start_ns >= to_ns)
            break;
        if (copy->end_ns <= piece.from_ns)
            continue;
        piece.to_ns = copy->start_ns;
        piece.before_copy = is_before_copy(walk, &piece);
        if (piece.to_ns > piece.from_ns)
            error = book_opened(walk, piece);
        copied.from_ns = copy->start_ns > piece.from_ns ? copy->start_ns : piece.from_ns;
        copied.to_ns = copy->end_ns < to_ns ? copy->end_ns : to_ns;
        if (copy->of_host)
            lane->copies_alone_ns +=
                gv_ledger_main_ns(walk->ledger, lane, copied.from_ns, copied.to_ns);
        if (copy->of_host && copy->what == GV_ACCOUNT_COPY && waits_for_copies(piece.what)) {
            copied.what = GV_ACCOUNT_COPY_EXPOSED;
            copied.awaited = copy->awaited;
        }
        if (!error)
            error = gv_ledger_book(walk->ledger, walk->lane, &copied);
        piece.from_ns = copied.to_ns;
        if (copy->end_ns > to_ns)
            return error;
    }
    piece.to_ns = to_ns;
    piece.before_copy = is_before_copy(walk, &piece);
    return error || piece.from_ns >= to_ns ? error : book_opened(walk, piece);
}

/* From the cursor to `to_ns`, as far as it was recorded. */
static int book_idle(struct walk *walk, int64_t to_ns, struct gv_ledger_piece piece)
{
    struct gv_ledger_lane *lane = &walk->ledger->lanes[walk->lane];
    int64_t known_ns, until_ns;
    int error = 0;

    for (; walk->cursor_ns < to_ns && !error &&
           gv_ledger_unseen(walk->ledger, lane, &known_ns, &until_ns) == lane->process &&
           known_ns < to_ns;
         lane->unseen_at++) {
        int64_t end_ns = until_ns < to_ns ? until_ns : to_ns;
        if (end_ns <= walk->cursor_ns)
            continue;
        if (known_ns > walk->cursor_ns) {
            piece.from_ns = walk->cursor_ns;
            piece.to_ns = walk->cursor_ns = known_ns;
            error = book_without_copies(walk, piece);
        }
        const struct gv_ledger_piece lost = {
            .from_ns = walk->cursor_ns, .to_ns = end_ns, .what = GV_ACCOUNT_NOT_SEEN};
        walk->cursor_ns = end_ns;
        if (!error)
            error = book_without_copies(walk, lost);
        if (until_ns > to_ns)
            return error;
    }
    if (error || walk->cursor_ns >= to_ns)
        return error;
    piece.from_ns = walk->cursor_ns;
    piece.to_ns = walk->cursor_ns = to_ns;
    return book_without_copies(walk, piece);
}

/* ---- inside of calls ---- */

static uint32_t what_of_call(const struct gv_ledger *ledger, uint32_t api)
{
    uint32_t what = (uint32_t)gv_ledger_api(ledger, api, 4);

    return what == GV_ACCOUNT_LAUNCHING && gv_ledger_api(ledger, api, 2) ? GV_ACCOUNT_INSTANTIATING
                                                                         : what;
}

static bool is_launching(const struct gv_ledger *ledger, uint64_t call)
{
    return call && what_of_call(ledger, GV_LEDGER_API(call)) == GV_ACCOUNT_LAUNCHING;
}

bool gv_ledger_may_wait(const struct gv_ledger *ledger, uint32_t api)
{
    switch (what_of_call(ledger, api)) {
    case GV_ACCOUNT_LAUNCHING:
    case GV_ACCOUNT_INSTANTIATING:
    case GV_ACCOUNT_STARTING:
        return false;
    default:
        return true;
    }
}

bool gv_ledger_asks_to_wait(const struct gv_ledger *ledger, uint32_t api)
{
    uint32_t what = what_of_call(ledger, api);

    return what == GV_ACCOUNT_ROUND_TRIP || what == GV_ACCOUNT_COPYING;
}

/* All that a thread does while it captures makes the graph, at the line that began it. */
static struct gv_ledger_piece captured(const struct gv_ledger_entry *entry)
{
    return (struct gv_ledger_piece){.pair = entry->capture_pair - 1,
                                    .stack = entry->capture_stack,
                                    .what = GV_ACCOUNT_INSTANTIATING};
}

/* From the cursor to `to_ns`. */
static int book_call(struct walk *walk, const struct gv_ledger_entry *entry, int64_t to_ns)
{
    struct gv_ledger *ledger = walk->ledger;
    const struct gv_ledger_lane *lane = &ledger->lanes[walk->lane];
    const struct gv_key key = {{(uint64_t)entry->call, 0, 0}};
    int64_t stall = gv_key_map_find(&ledger->stall_numbers, &key);
    struct gv_ledger_piece piece = {.pair = entry->pair, .what = what_of_call(ledger, entry->api)};
    int error = 0;

    /* A short one only asks: PyTorch does before each launch. */
    if (gv_ledger_api(ledger, entry->api, 0) == GV_CLASS_FUNCTION &&
        entry->end_ns - entry->start_ns >= SHORT_NS)
        piece.what = GV_ACCOUNT_LOADING;
    if (entry->starts)
        piece.what = GV_ACCOUNT_STARTING;
    if (to_ns - walk->cursor_ns >= OWN_STACK_NS)
        piece.stack = entry->stack;
    if (entry->capture_pair)
        return book_idle(walk, to_ns, captured(entry));
    if (lane->device >= 0 && entry->device >= 0 && entry->device != lane->device)
        piece.what = GV_ACCOUNT_OTHER_DEVICE;
    else if (entry->start_ns < lane->busy_until_ns && gv_ledger_asks_to_wait(ledger, entry->api))
        piece.what = GV_ACCOUNT_ROUND_TRIP;
    else if (stall) {
        const struct gv_ledger_stall *of = &ledger->stalls[stall - 1];
        int64_t until_ns = entry->start_ns + of->stalled_ns;
        struct gv_ledger_piece stalled = piece;
        stalled.what = of->what;
        until_ns = until_ns < to_ns ? until_ns : to_ns;
        if (until_ns > walk->cursor_ns)
            error = book_idle(walk, until_ns, stalled);
    }
    return error ? error : book_idle(walk, to_ns, piece);
}

/* ---- outside of calls ---- */

static int64_t middle(int64_t one_ns, int64_t other_ns)
{
    return one_ns + (other_ns - one_ns) / 2;
}

/* Frames of Python that change too fast cannot be read: then the look before, or the next, of the
 * same piece says what it was. */
static const struct gv_ledger_entry *told_by(const struct walk *walk, size_t number)
{
    const struct gv_ledger *ledger = walk->ledger;
    const struct gv_ledger_entry *entries = ledger->lanes[walk->lane].entries;
    const struct gv_ledger_entry *look = &entries[ledger->looks_seen[number]];

    if (look->stack || ledger->verdicts[look->verdict].what != GV_ACCOUNT_PYTHON)
        return look;
    for (size_t i = number; i-- > 0;)
        if (entries[ledger->looks_seen[i]].stack)
            return &entries[ledger->looks_seen[i]];
    for (size_t i = number + 1; i < walk->look_count; i++)
        if (entries[ledger->looks_seen[i]].stack)
            return &entries[ledger->looks_seen[i]];
    return look;
}

static bool sees_the_same(const struct gv_ledger_entry *one, const struct gv_ledger_entry *other)
{
    return one->verdict == other->verdict && one->stack == other->stack;
}

/* From the cursor to `to_ns`, in which the looks fell that were noted. */
static int book_outside(struct walk *walk, uint32_t pair, int64_t to_ns)
{
    struct gv_ledger *ledger = walk->ledger;
    const struct gv_ledger_lane *lane = &ledger->lanes[walk->lane];
    int64_t taken_ns = to_ns - walk->cursor_ns;
    int error = taken_ns < GV_LEDGER_LONG_NS ? 0 : gv_ledger_pair_long(ledger, &pair);
    struct gv_ledger_piece piece = {.pair = pair, .what = GV_LEDGER_OUTSIDE};
    uint32_t alike = 0;

    for (size_t i = 0; i < walk->look_count && !error; i++) {
        const struct gv_ledger_entry *look = told_by(walk, i);
        error = gv_ledger_count_look(ledger, pair, look->verdict, look->stack,
                                     look->start_ns < lane->main_ns);
    }
    const struct gv_ledger_pair *of = &ledger->pairs[pair];
    if (taken_ns < SHORT_NS && is_launching(ledger, of->before) && is_launching(ledger, of->after))
        piece.what = GV_LEDGER_SHORT;
    for (size_t i = 0; i < walk->look_count && taken_ns >= LOOKED_AT_NS && !error; i++) {
        const struct gv_ledger_entry *look = told_by(walk, i);
        alike++;
        if (i + 1 < walk->look_count && sees_the_same(look, told_by(walk, i + 1)))
            continue;
        int64_t until_ns = i + 1 < walk->look_count
                               ? middle(lane->entries[ledger->looks_seen[i]].start_ns,
                                        lane->entries[ledger->looks_seen[i + 1]].start_ns)
                               : to_ns;
        piece.what = ledger->verdicts[look->verdict].what;
        piece.stack = look->stack;
        piece.verdict = look->verdict + 1;
        ledger->idle.looks = alike;
        alike = 0;
        error = book_idle(walk, until_ns < to_ns ? until_ns : to_ns, piece);
    }
    ledger->idle.looks = taken_ns < LOOKED_AT_NS ? (uint32_t)walk->look_count : 0;
    walk->look_count = 0;
    if (!error)
        error = book_idle(walk, to_ns, piece);
    ledger->idle.looks = 0;
    return error;
}

/* Of one thread, from the cursor to `to_ns`. `then`: what is called next, if that is known. */
static int walk_thread(struct walk *walk, uint32_t thread, int64_t to_ns, uint64_t then)
{
    struct gv_ledger *ledger = walk->ledger;
    uint32_t pair = 0;
    uint64_t after = 0;
    int error = 0;

    walk->look_count = 0;
    for (size_t i = 0; i < ledger->lanes[walk->lane].entry_count && !error; i++) {
        const struct gv_ledger_entry *entry = &ledger->lanes[walk->lane].entries[i];
        if (entry->start_ns >= to_ns)
            break;
        if (entry->thread != thread || entry->end_ns < walk->cursor_ns)
            continue;
        if (!entry->call) {
            error = gv_array_room(&ledger->looks_seen, walk->look_count, &ledger->looks_seen_room,
                                  sizeof(*ledger->looks_seen));
            if (!error)
                ledger->looks_seen[walk->look_count++] = (uint32_t)i;
            continue;
        }
        const struct gv_key key = {{(uint64_t)entry->call, 0, 0}};
        after = ledger->pairs[entry->pair].after;
        if (entry->pair && gv_key_map_find(&ledger->builds, &key)) {
            ledger->pairs[entry->pair].builds++;
            gv_key_map_remove(&ledger->builds, &key); /* counted once, in whatever lane */
        }
        if (entry->start_ns > walk->cursor_ns && entry->capture_pair)
            error = book_idle(walk, entry->start_ns, captured(entry));
        else if (entry->start_ns > walk->cursor_ns)
            error = book_outside(walk, entry->pair, entry->start_ns);
        if (!error && entry->end_ns > walk->cursor_ns)
            error = book_call(walk, entry, entry->end_ns < to_ns ? entry->end_ns : to_ns);
        walk->look_count = 0;
    }
    if (error || walk->cursor_ns >= to_ns)
        return error;
    if (!after)
        after = ledger->threads[thread].last;
    error = gv_ledger_pair_of(ledger, thread, after, then, &pair);
    return error ? error : book_outside(walk, pair, to_ns);
}

/* ---- whose time it was ---- */

static bool is_work(uint32_t what)
{
    switch (what) {
    case GV_ACCOUNT_THREAD_LOCK:
    case GV_ACCOUNT_UNKNOWN:
    case GV_ACCOUNT_SLEEP:
    case GV_ACCOUNT_NO_REQUEST:
        return false;
    default:
        return true;
    }
}

/* When the feeder's own time begins in the gap that ends with its launch: before, it waited for
 * work. */
static int64_t own_time(const struct walk *walk, const struct gv_ledger_launch *launch)
{
    const struct gv_ledger *ledger = walk->ledger;
    const struct gv_ledger_lane *lane = &ledger->lanes[walk->lane];
    int64_t first_ns = launch->start_ns, others_ns = walk->cursor_ns;
    size_t works = 0, rests = 0;

    for (size_t i = 0; i < lane->entry_count; i++) {
        const struct gv_ledger_entry *entry = &lane->entries[i];
        if (entry->start_ns > first_ns)
            break;
        if (entry->thread == lane->feeder && entry->call && entry->end_ns > others_ns)
            others_ns = entry->end_ns;
        if (entry->thread != launch->thread)
            continue;
        if (!entry->call) {
            works += is_work(ledger->verdicts[entry->verdict].what);
            rests += !is_work(ledger->verdicts[entry->verdict].what);
        } else {
            first_ns = entry->start_ns; /* or before the gap */
        }
    }
    if (works > rests)
        return walk->cursor_ns;
    if (rests > works || lane->feeder == ledger->processes[lane->process].first_thread)
        return first_ns;
    return others_ns < first_ns ? others_ns : first_ns;
}

/* Of the calls of the process, the first that waited until the lane ran dry. */
static void find_opener(struct gv_ledger *ledger, struct gv_ledger_lane *lane, int64_t until_ns)
{
    const struct gv_ledger_process *process = &ledger->processes[lane->process];

    lane->next_open_ns = INT64_MAX;
    for (size_t i = 0; i < GV_LEDGER_WAITS; i++) {
        const struct gv_ledger_wait *wait = &process->waits[i];
        if (wait->start_ns >= lane->busy_until_ns || wait->end_ns < lane->busy_until_ns ||
            wait->end_ns >= until_ns || wait->end_ns >= lane->next_open_ns ||
            (!wait->is_asked && wait->end_ns > lane->busy_until_ns + SOON_NS))
            continue;
        lane->next_open_ns = wait->end_ns;
        lane->next_waited_ns = lane->busy_until_ns - wait->start_ns;
        lane->next_pair = wait->pair;
        lane->next_stack = wait->end_ns - wait->start_ns >= OWN_STACK_NS ? wait->stack : 0;
    }
}

static int fill(struct walk *walk, int64_t until_ns, const struct gv_ledger_launch *launch)
{
    struct gv_ledger *ledger = walk->ledger;
    struct gv_ledger_lane *lane = &ledger->lanes[walk->lane];
    struct gv_ledger_piece rest = {.what = GV_ACCOUNT_UNKNOWN};
    uint64_t then;
    int error = 0;

    if (!launch)
        return book_idle(walk, until_ns, rest);
    int64_t launched_ns = launch->end_ns < until_ns ? launch->end_ns : until_ns;
    then = ledger->pairs[launch->pair].after;
    if (lane->feeder && lane->feeder != launch->thread && launched_ns > walk->cursor_ns) {
        int64_t own_ns = own_time(walk, launch);
        if (own_ns > walk->cursor_ns)
            error =
                walk_thread(walk, lane->feeder, own_ns < launched_ns ? own_ns : launched_ns, then);
    }
    if (!error && launched_ns > walk->cursor_ns)
        error = walk_thread(walk, launch->thread, launched_ns, then);
    if (error || walk->cursor_ns >= until_ns)
        return error;
    rest = (struct gv_ledger_piece){
        .pair = launch->pair,
        .what = until_ns - walk->cursor_ns <= BETWEEN_NS ? GV_ACCOUNT_BETWEEN_KERNELS
                                                         : GV_ACCOUNT_QUEUED,
    };
    return book_idle(walk, until_ns, rest);
}

static int gap(struct gv_ledger *ledger, uint32_t number, int64_t until_ns,
               const struct gv_ledger_launch *launch, bool is_open)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    struct walk walk = {.ledger = ledger, .lane = number, .cursor_ns = lane->busy_until_ns};
    bool is_inner = lane->busy_until_ns > lane->first_ns && until_ns < lane->last_ns;
    int error;

    if (until_ns > lane->end_ns)
        until_ns = lane->end_ns;
    if (until_ns <= lane->busy_until_ns)
        return 0;
    find_opener(ledger, lane, until_ns);
    lane->copy_at = 0;
    gv_ledger_idle_begin(ledger);
    if (is_open && lane->feeder)
        error = walk_thread(&walk, lane->feeder, until_ns, 0);
    else
        error = fill(&walk, until_ns, launch);
    lane->busy_until_ns = until_ns;
    return error ? error : gv_ledger_idle_end(ledger, number, launch ? launch->id : 0, is_inner);
}

int gv_ledger_book_unknown(struct gv_ledger *ledger, uint32_t lane,
                           const struct gv_ledger_piece *piece)
{
    struct walk walk = {.ledger = ledger, .lane = lane, .cursor_ns = piece->from_ns};

    return book_idle(&walk, piece->to_ns, *piece);
}

int gv_ledger_gap(struct gv_ledger *ledger, uint32_t lane, int64_t until_ns,
                  const struct gv_ledger_launch *launch)
{
    return gap(ledger, lane, until_ns, launch, false);
}

int gv_ledger_gap_open(struct gv_ledger *ledger, uint32_t lane, int64_t until_ns)
{
    return gap(ledger, lane, until_ns, NULL, true);
}
