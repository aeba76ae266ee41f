/* Takes calls, looks and operations by the time at which they began. */
#include "report/analyse/ledger/run.h"

#include "report/store/array.h"
#include "report/store/time_sum.h"
#include "trace/call_table.h"
#include "trace/mix.h"
#include "trace/spool.h"

/* Of one idle time. With more, its first part is booked before it is known who ends it. */
#define ENTRIES_MOST  32768u
#define COPIES_MOST   4096u
#define SERIALISED_NS 20000   /* until an operation begins that another stream has kept */
#define BESIDE_NS     500     /* what follows at once may seem to begin earlier by less */
#define LATE_NS       1000000 /* an operation that its stream could have begun at once */
#define PAGEABLE      1       /* CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE */
#define TO_DEVICE     1       /* CUPTI_ACTIVITY_MEMCPY_KIND_HTOD */
#define OF_HOST_LAST  4       /* CUPTI_ACTIVITY_MEMCPY_KIND_ATOH: up to it, the host has one end */
/* Entries of the past are thrown away so many at a time. */
#define ENTRIES_KEPT 16u

/* ---- calls ---- */

static int32_t device_of(const struct gv_ledger *ledger, const struct gv_pass_call *call)
{
    int64_t context =
        call->context ? call->context : gv_id_table_get(&ledger->streams, call->stream, 0);

    return (int32_t)gv_id_table_get(&ledger->contexts, context, 0) - 1;
}

static void forget_entries(struct gv_ledger_lane *lane)
{
    size_t kept = 0;

    for (size_t i = 0; i < lane->entry_count; i++)
        if (lane->entries[i].end_ns > lane->busy_until_ns)
            lane->entries[kept++] = lane->entries[i];
    lane->entry_count = kept;
    lane->forget_at = 2 * kept + ENTRIES_KEPT; /* so that each is looked at once or twice */
}

static void forget_copies(struct gv_ledger_lane *lane)
{
    size_t kept = 0;

    for (size_t i = 0; i < lane->copy_count; i++)
        if (lane->copies[i].end_ns > lane->busy_until_ns)
            lane->copies[kept++] = lane->copies[i];
    lane->copy_count = kept;
}

/* Books what came before the time, though it is not known what ends the gap. */
static int book_early(struct gv_ledger *ledger, uint32_t number, int64_t now_ns)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    int error;

    if (!lane->feeder && lane->entry_count)
        lane->feeder = lane->entries[lane->entry_count - 1].thread;
    error = gv_ledger_gap_open(ledger, number, now_ns);
    forget_entries(lane);
    forget_copies(lane);
    return error;
}

static int add_entry(struct gv_ledger *ledger, uint32_t number, const struct gv_ledger_entry *entry)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    int error = 0;

    if (entry->start_ns >= lane->end_ns)
        return 0; /* a thread that goes on while its process ends */
    if (lane->entry_count > lane->forget_at)
        forget_entries(lane);
    if (lane->entry_count >= ENTRIES_MOST)
        error = book_early(ledger, number, entry->start_ns);
    if (!error && lane->entry_count >= ENTRIES_MOST)
        return 0; /* so many calls at once are in no trace of ours */
    if (!error)
        error = gv_array_room(&lane->entries, lane->entry_count, &lane->entry_room,
                              sizeof(*lane->entries));
    if (!error)
        lane->entries[lane->entry_count++] = *entry;
    return error;
}

/* ---- a lane of which only calls are known ---- */

/* The device works for sure while a call waits for all of it, until drained_ns (0: it does not wait
 * so), and rests for sure from then to the next launch. */
static int take_host_only(struct gv_ledger *ledger, uint32_t number,
                          const struct gv_ledger_launch *launch, int64_t drained_ns)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    struct gv_ledger_piece piece = {.pair = launch->pair, .what = GV_ACCOUNT_UNKNOWN};
    /* A launch that waited first is in the queue only when it returns. */
    int64_t launched_ns = drained_ns ? launch->end_ns : launch->start_ns;
    int error = 0;

    if (lane->worked && !lane->drained && drained_ns > lane->busy_until_ns) {
        piece.from_ns = lane->busy_until_ns;
        piece.to_ns = launch->start_ns;
        if (piece.to_ns > piece.from_ns)
            error = gv_ledger_book_unknown(ledger, number, &piece);
        piece.from_ns = piece.to_ns > piece.from_ns ? piece.to_ns : piece.from_ns;
        piece.to_ns = drained_ns;
        piece.what = GV_ACCOUNT_KERNEL;
        if (!error)
            error = gv_ledger_book(ledger, number, &piece);
        lane->computing_ns += piece.to_ns - piece.from_ns;
        lane->busy_until_ns = piece.to_ns;
        lane->drained = true;
    }
    if (!error && gv_ledger_api(ledger, launch->api, 1) && (lane->drained || !lane->worked)) {
        if (launched_ns > lane->busy_until_ns)
            error = gv_ledger_gap(ledger, number, launched_ns, launch);
        lane->worked = true;
        lane->drained = false;
        lane->feeder = launch->thread;
        lane->fed_by = launch->id;
        lane->busy_until_ns = launched_ns > lane->busy_until_ns ? launched_ns : lane->busy_until_ns;
    }
    return error;
}

/* When the device had no work, as the call waited for all of it; 0: it did not. */
static int64_t drained_by(const struct gv_ledger *ledger, const struct gv_pass_call *call)
{
    const struct gv_key key = {{(uint64_t)call->key.id, 0, 0}};
    int64_t stall;

    if (call->result == 0 && gv_ledger_api(ledger, call->api, 0) == GV_CLASS_SYNC)
        return call->key.end_ns;
    stall = gv_key_map_find(&ledger->stall_numbers, &key);
    return stall && ledger->stalls[stall - 1].drained_ns
               ? call->key.at_ns + ledger->stalls[stall - 1].drained_ns
               : 0;
}

static int64_t waited_ns(const struct gv_ledger *ledger, const struct gv_pass_call *call)
{
    const struct gv_key key = {{(uint64_t)call->key.id, 0, 0}};
    int64_t stall = gv_key_map_find(&ledger->stall_numbers, &key);

    if (gv_ledger_asks_to_wait(ledger, call->api))
        return call->key.end_ns - call->key.at_ns;
    return stall ? ledger->stalls[stall - 1].stalled_ns : 0;
}

/* In how many tenths of the lane's main phase a call was made. */
static void count_tenth(struct gv_ledger *ledger, const struct gv_ledger_lane *lane,
                        const struct gv_pass_call *call)
{
    int64_t tenth_ns = (lane->main_end_ns - lane->main_ns) / 10;
    int64_t *of = &ledger->apis.values[call->api * ledger->apis.columns];

    if (tenth_ns <= 0 || call->key.at_ns < lane->main_ns || call->key.at_ns >= lane->main_end_ns)
        return;
    int64_t tenth = (call->key.at_ns - lane->main_ns) / tenth_ns + 1;
    of[8] += tenth != of[7];
    of[7] = tenth;
}

static uint64_t call_of(const struct gv_ledger *ledger, const struct gv_pass_call *call)
{
    uint64_t what = GV_LEDGER_CALL(call->api, call->kernel);
    uint64_t graph = gv_mix(0, (uint64_t)call->object) >> 32;

    return gv_ledger_launches_graph(ledger, what)
               ? what | GV_LEDGER_GRAPH | graph % GV_LEDGER_GRAPHS
               : what;
}

static int take_call(void *context, const struct gv_pass_call *call)
{
    struct gv_ledger *ledger = context;
    struct gv_ledger_thread *thread =
        call->thread < ledger->thread_count ? &ledger->threads[call->thread] : NULL;
    struct gv_ledger_process *process = thread ? &ledger->processes[thread->process] : NULL;
    uint64_t what = call_of(ledger, call);
    struct gv_ledger_launch launch = {
        .id = call->key.id,
        .start_ns = call->key.at_ns,
        .end_ns = call->key.end_ns,
        .thread = call->thread,
        .stack = call->stack,
        .api = call->api,
        .is_legacy = call->stream ? gv_id_table_get(&ledger->streams, call->stream, 1) != 0
                                  : gv_ledger_api(ledger, call->api, 6) != 0};
    int error;

    if (!process || !process->lane_count)
        return 0;
    if (call->api < ledger->apis.rows)
        count_tenth(ledger, &ledger->lanes[process->lanes[0]], call);
    bool starts =
        gv_starting_is(&process->starting, (enum gv_api_class)gv_ledger_api(ledger, call->api, 0),
                       gv_ledger_api(ledger, call->api, 5) != 0, call->duration_ns);
    error = gv_ledger_pair_of(ledger, call->thread, thread->last, what, &launch.pair);
    if (!error && call->stack)
        error = gv_ledger_count_stack(ledger, launch.pair, call->stack, call->one_of);
    if (error)
        return error;
    if (call->stream > 0 && call->stream < ledger->streams.rows) {
        int64_t *awaits = &ledger->streams.values[call->stream * ledger->streams.columns + 2];
        launch.awaits = *awaits != 0;
        *awaits = gv_ledger_api(ledger, call->api, 3) ||
                  (*awaits && !gv_ledger_api(ledger, call->api, 1));
    }
    if (gv_ledger_api(ledger, call->api, 1) ||
        gv_ledger_api(ledger, call->api, 0) == GV_CLASS_COLLECTIVE)
        ledger->launches[(uint64_t)call->key.id % GV_LEDGER_LAUNCHES] = launch;
    if (gv_ledger_may_wait(ledger, call->api))
        process->waits[process->wait_at++ % GV_LEDGER_WAITS] =
            (struct gv_ledger_wait){call->key.at_ns, call->key.end_ns, launch.pair, call->stack,
                                    gv_ledger_asks_to_wait(ledger, call->api)};
    const int64_t drained_ns = drained_by(ledger, call);
    const int64_t waited_until_ns = call->key.at_ns + waited_ns(ledger, call);
    for (size_t i = 0; i < process->lane_count && !error; i++) {
        struct gv_ledger_lane *lane = &ledger->lanes[process->lanes[i]];
        const struct gv_ledger_entry entry = {
            .start_ns = call->key.at_ns,
            .end_ns = call->key.end_ns,
            .call = call->key.id,
            .thread = call->thread,
            .pair = launch.pair,
            .stack = call->stack,
            .api = call->api,
            .capture_pair = thread->capture_pair,
            .capture_stack = thread->capture_stack,
            .starts = starts,
            .device = process->lane_count > 1 ? device_of(ledger, call) : -1};
        lane->host_waits_ns += gv_ledger_main_ns(ledger, lane, call->key.at_ns, waited_until_ns);
        /* Of a lane of which only calls are known, nothing can be said until one waits. */
        if (call->key.end_ns > lane->busy_until_ns &&
            (!(lane->worked && !lane->drained) || drained_ns))
            error = add_entry(ledger, process->lanes[i], &entry);
        if (!error && lane->device < 0 && ledger->scaled)
            error = gv_ledger_sampled_take(ledger, process->lanes[i], call, launch.pair);
        if (!error && lane->device < 0)
            error = take_host_only(ledger, process->lanes[i], &launch, drained_ns);
    }
    thread->last = gv_ledger_launches_graph(ledger, what) ? GV_LEDGER_FUNCTION(what) : what;
    if (call->result == 0 && gv_ledger_api(ledger, call->api, 2) == 1) {
        thread->capture_pair = launch.pair + 1;
        thread->capture_stack = launch.stack;
    } else if (gv_ledger_api(ledger, call->api, 2) == 2) {
        thread->capture_pair = 0;
    }
    return error;
}

static void note_seen_at(struct gv_ledger_seen_at *list, uint32_t stack)
{
    struct gv_ledger_seen_at *free_one = NULL;

    for (size_t i = 0; i < GV_LEDGER_SEEN_AT; i++) {
        struct gv_ledger_seen_at *at = &list[i];
        if (at->looks && at->stack == stack) {
            at->looks++;
            return;
        }
        if (!at->looks)
            free_one = at;
    }
    if (free_one)
        *free_one = (struct gv_ledger_seen_at){stack, 1};
    for (size_t i = 0; i < GV_LEDGER_SEEN_AT && !free_one; i++)
        list[i].looks--;
}

static int take_look(void *context, const void *record)
{
    struct gv_ledger *ledger = context;
    const struct gv_ledger_look *look = record;
    const struct gv_ledger_entry entry = {.start_ns = look->key.at_ns,
                                          .end_ns = look->key.at_ns,
                                          .thread = look->thread,
                                          .stack = look->stack,
                                          .verdict = look->verdict,
                                          .device = -1};
    int error = 0;

    if (look->thread >= ledger->thread_count)
        return 0;
    struct gv_ledger_process *process = &ledger->processes[ledger->threads[look->thread].process];
    if (++ledger->threads[look->thread].looks > process->rounds)
        process->rounds++;
    if (look->stack && ledger->verdicts[look->verdict].what == GV_ACCOUNT_THREAD_LOCK) {
        note_seen_at(process->locked_at, look->stack);
        if (look->thread == process->first_thread)
            note_seen_at(process->waited_at, look->stack);
    }
    if (look->stack && look->thread == process->first_thread && process->lane_count &&
        look->key.at_ns >= ledger->lanes[process->lanes[0]].main_ns)
        note_seen_at(process->was_at, look->stack);
    for (size_t i = 0; i < process->lane_count && !error; i++)
        if (look->key.at_ns > ledger->lanes[process->lanes[i]].busy_until_ns)
            error = add_entry(ledger, process->lanes[i], &entry);
    return error;
}

/* ---- operations ---- */

static int take_copy(struct gv_ledger *ledger, uint32_t number,
                     const struct gv_pass_operation *operation,
                     const struct gv_ledger_launch *launch)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    struct gv_ledger_span copy = {
        .start_ns = operation->key.at_ns,
        .end_ns = operation->key.end_ns,
        .pair = launch ? launch->pair : 0,
        .stack = operation->stack,
        .what = operation->kind != GV_GPU_COPY          ? GV_ACCOUNT_SET
                : operation->copy_kind / 16 == PAGEABLE ? GV_ACCOUNT_COPY_PAGEABLE
                                                        : GV_ACCOUNT_COPY,
        .to_device = operation->kind == GV_GPU_COPY && operation->copy_kind % 16 == TO_DEVICE,
        .of_host = operation->kind == GV_GPU_COPY && operation->copy_kind % 16 >= TO_DEVICE &&
                   operation->copy_kind % 16 <= OF_HOST_LAST,
        .awaited = launch && launch->awaits && launch->end_ns < lane->busy_until_ns,
    };
    int64_t last_ns = lane->copy_count ? lane->copies[lane->copy_count - 1].end_ns : INT64_MIN;
    int error = 0;

    if (copy.start_ns < last_ns)
        copy.start_ns = last_ns;
    if (copy.end_ns > lane->end_ns)
        copy.end_ns = lane->end_ns;
    if (copy.of_host && copy.end_ns > lane->copied_until_ns) {
        int64_t from_ns =
            copy.start_ns > lane->copied_until_ns ? copy.start_ns : lane->copied_until_ns;
        lane->copies_ns += gv_ledger_main_ns(ledger, lane, from_ns, copy.end_ns);
        lane->copied_until_ns = copy.end_ns;
    }
    if (copy.end_ns <= copy.start_ns || copy.end_ns <= lane->busy_until_ns)
        return 0;
    if (lane->copy_count >= COPIES_MOST)
        forget_copies(lane);
    if (lane->copy_count >= COPIES_MOST)
        error = book_early(ledger, number, copy.start_ns);
    if (!error)
        error =
            gv_array_room(&lane->copies, lane->copy_count, &lane->copy_room, sizeof(*lane->copies));
    if (!error)
        lane->copies[lane->copy_count++] = copy;
    if (launch && !lane->feeder)
        lane->feeder = launch->thread;
    if (launch)
        lane->fed_by = launch->id;
    return error;
}

/* A collective gets only time in which nothing else computes. */
static int take_computing(struct gv_ledger *ledger, uint32_t number,
                          const struct gv_pass_operation *operation,
                          const struct gv_ledger_launch *launch)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    bool is_collective = gv_id_table_get(&ledger->shapes, operation->shape, 0) != 0;
    int64_t end_ns = operation->key.end_ns < lane->end_ns ? operation->key.end_ns : lane->end_ns;
    struct gv_ledger_piece piece = {
        .pair = launch ? launch->pair : 0,
        .stack = operation->stack,
        .what = is_collective                     ? GV_ACCOUNT_COLLECTIVE
                : operation->kind == GV_GPU_GRAPH ? GV_ACCOUNT_GRAPH
                                                  : GV_ACCOUNT_KERNEL,
    };
    int error = 0;

    if (operation->key.at_ns > lane->busy_until_ns) {
        lane->busy_since_ns = operation->key.at_ns;
        error = gv_ledger_gap(ledger, number, operation->key.at_ns, launch);
    } else if (lane->is_collective && !is_collective && lane->busy_cell) {
        piece.from_ns = operation->key.at_ns > lane->beside_until_ns ? operation->key.at_ns
                                                                     : lane->beside_until_ns;
        piece.to_ns = end_ns < lane->busy_until_ns ? end_ns : lane->busy_until_ns;
        if (piece.to_ns > piece.from_ns) {
            size_t cell = lane->busy_cell;
            lane->beside_until_ns = piece.to_ns;
            error = gv_ledger_take_back(ledger, number, &piece.from_ns, &piece.to_ns);
            if (!error)
                error = gv_ledger_book(ledger, number, &piece);
            lane->busy_cell = cell;
        }
    }
    if (launch)
        lane->feeder = launch->thread;
    lane->fed_by = launch ? launch->id : 0;
    piece.from_ns =
        operation->key.at_ns > lane->busy_until_ns ? operation->key.at_ns : lane->busy_until_ns;
    piece.to_ns = end_ns;
    if (error || piece.to_ns <= piece.from_ns)
        return error;
    lane->computing_ns += piece.to_ns - piece.from_ns;
    lane->busy_until_ns = end_ns;
    lane->is_collective = is_collective;
    lane->busy_cell = 0; /* it may not be booked */
    forget_copies(lane);
    if (lane->entry_count > lane->forget_at)
        forget_entries(lane);
    return gv_ledger_book(ledger, number, &piece);
}

/* Time that an operation waited, of a lane; whose pair and stack are given. */
static int add_beside(struct gv_ledger *ledger, const struct gv_ledger_beside *add)
{
    const struct gv_key key = {{add->lane, add->pair, add->what}};
    int64_t known = gv_key_map_find(&ledger->beside_numbers, &key);
    int error = 0;

    if (!known) {
        error = gv_array_room(&ledger->beside, ledger->beside_count, &ledger->beside_room,
                              sizeof(*ledger->beside));
        if (error)
            return error;
        known = (int64_t)++ledger->beside_count;
        ledger->beside[known - 1] =
            (struct gv_ledger_beside){.lane = add->lane, .what = add->what, .pair = add->pair};
        error = gv_key_map_add(&ledger->beside_numbers, &key, known);
    }
    struct gv_ledger_beside *of = &ledger->beside[known - 1];
    of->stack = add->stack ? add->stack : of->stack;
    of->waited_ns = gv_time_sum(of->waited_ns, add->waited_ns);
    of->count += add->count;
    of->first_uses += add->first_uses;
    return error;
}

/* An operation that was queued before one of the legacy default stream had ended, and begins when
 * that has, waited for it: nothing else kept its own stream, from queued_ns on. A stream that has
 * worked beside it does not wait for it (cudaStreamNonBlocking). */
static int take_serialised(struct gv_ledger *ledger, uint32_t number,
                           const struct gv_pass_operation *operation,
                           const struct gv_ledger_launch *launch, int64_t queued_ns)
{
    struct gv_ledger_lane *lane = &ledger->lanes[number];
    int64_t *works_beside =
        &ledger->places.values[(size_t)operation->place * ledger->places.columns + 3];

    if (launch->is_legacy) {
        if (lane->serialised_from_ns < lane->legacy_end_ns)
            lane->serialised_until_ns = lane->legacy_end_ns;
        lane->serialised_from_ns = operation->key.end_ns;
        lane->legacy_end_ns = operation->key.end_ns;
        lane->legacy_launch_ns = launch->start_ns;
        lane->legacy_pair = launch->pair;
        lane->legacy_stack = launch->stack;
        lane->legacy_place = operation->place;
        return 0;
    }
    *works_beside |= operation->place != lane->legacy_place &&
                     operation->key.at_ns + BESIDE_NS < lane->legacy_end_ns;
    if (!lane->legacy_pair || operation->place == lane->legacy_place || *works_beside ||
        launch->awaits || operation->key.at_ns >= lane->legacy_end_ns + SERIALISED_NS ||
        queued_ns >= lane->legacy_end_ns || lane->legacy_launch_ns >= launch->start_ns)
        return 0;
    if (queued_ns < lane->serialised_until_ns)
        queued_ns = lane->serialised_until_ns;
    int64_t waited_ns =
        lane->serialised_from_ns > queued_ns ? lane->serialised_from_ns - queued_ns : 0;
    lane->serialised_from_ns -= waited_ns;
    return add_beside(ledger, &(struct gv_ledger_beside){.lane = number,
                                                         .what = GV_ACCOUNT_SERIALISED,
                                                         .pair = lane->legacy_pair,
                                                         .stack = lane->legacy_stack,
                                                         .waited_ns = waited_ns,
                                                         .count = 1});
}

/* Its stream was empty and awaited nothing, but it began late, while the device worked for others
 * all the time. */
static int take_late(struct gv_ledger *ledger, uint32_t number,
                     const struct gv_pass_operation *operation,
                     const struct gv_ledger_launch *launch, int64_t queued_ns)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[number];
    int64_t name = gv_id_table_get(&ledger->shapes, operation->shape, 1), first = 0;

    if (name > 0 && (uint64_t)name < ledger->names.rows) {
        int64_t *used = &ledger->names.values[(uint64_t)name * ledger->names.columns];
        first = *used == 0;
        *used = 1;
    }
    if (launch->is_legacy || launch->awaits || queued_ns > launch->end_ns ||
        operation->key.at_ns <= launch->end_ns + LATE_NS ||
        lane->busy_until_ns + SERIALISED_NS < operation->key.at_ns ||
        lane->busy_since_ns > launch->end_ns ||
        (lane->legacy_pair && operation->key.at_ns < lane->legacy_end_ns + SERIALISED_NS))
        return 0;
    return add_beside(ledger,
                      &(struct gv_ledger_beside){.lane = number,
                                                 .what = GV_ACCOUNT_LATE_START,
                                                 .pair = launch->pair,
                                                 .stack = launch->stack,
                                                 .waited_ns = operation->key.at_ns - launch->end_ns,
                                                 .count = 1,
                                                 .first_uses = first});
}

/* Of what operations waited for without being idle time. */
static int take_queued(struct gv_ledger *ledger, uint32_t number,
                       const struct gv_pass_operation *operation,
                       const struct gv_ledger_launch *launch)
{
    int64_t *last_ns = &ledger->place_ends_ns[operation->place];
    int64_t queued_ns = launch && launch->end_ns > *last_ns ? launch->end_ns : *last_ns;
    int error = 0;

    *last_ns = operation->key.end_ns > *last_ns ? operation->key.end_ns : *last_ns;
    if (launch && (operation->kind == GV_GPU_KERNEL || operation->kind == GV_GPU_GRAPH))
        error = take_late(ledger, number, operation, launch, queued_ns);
    return error || !launch ? error : take_serialised(ledger, number, operation, launch, queued_ns);
}

static int take_operation(void *context, const struct gv_pass_operation *operation)
{
    struct gv_ledger *ledger = context;
    int64_t number = gv_id_table_get(&ledger->places, operation->place, 2) - 1;
    const struct gv_ledger_launch *launch =
        &ledger->launches[(uint64_t)operation->call % GV_LEDGER_LAUNCHES];

    if (number < 0)
        return 0;
    if (operation->call <= 0 || launch->id != operation->call)
        launch = NULL;
    int error = take_queued(ledger, (uint32_t)number, operation, launch);
    if (error)
        return error;
    if (operation->kind == GV_GPU_KERNEL || operation->kind == GV_GPU_GRAPH)
        return take_computing(ledger, (uint32_t)number, operation, launch);
    return take_copy(ledger, (uint32_t)number, operation, launch);
}

int gv_ledger_take(struct gv_ledger *ledger)
{
    const struct gv_pass_consumer consumer = {ledger, take_call, take_operation};
    const struct gv_pass_stream looks = {ledger->looks, ledger, take_look};
    int error = gv_pass_run(ledger->pass, &consumer, &looks);

    for (uint32_t i = 0; i < ledger->lane_count && !error; i++) {
        struct gv_ledger_lane *lane = &ledger->lanes[i];
        const struct gv_ledger_piece unknown = {
            .from_ns = lane->busy_until_ns, .to_ns = lane->end_ns, .what = GV_ACCOUNT_UNKNOWN};
        if (lane->worked && !lane->drained)
            error = gv_ledger_book_unknown(ledger, i, &unknown);
        else
            error = gv_ledger_gap_open(ledger, i, lane->end_ns);
        if (!error)
            error = gv_ledger_open(ledger, i, 0, 0, 0);
    }
    return error ? error : gv_ledger_sampled_move(ledger);
}
