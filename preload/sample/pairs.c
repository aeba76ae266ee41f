#include "preload/sample/pairs.h"

#include "preload/base/budget.h"
#include "preload/base/clock.h"
#include "preload/base/hot.h"
#include "preload/base/lazy_memory.h"
#include "preload/base/own_thread.h"
#include "preload/base/own_work.h"
#include "preload/bind/entry_points.h"
#include "trace/futex.h"
#include "trace/mix.h"
#include "trace/session_id.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define CONTEXTS 16u
#define PAIRS    128u /* of a context: a few of each thread are under way, more in a deep queue */
#define TRIES    8u   /* to find a free one */

/* Of each site, so many are chosen: the first ones, and then one in so much time. */
#define SAMPLE_EVERY_NS 100000000u

#define STACK_BYTES      (256u << 10)
#define LOOK_LEAST_NS    20000000u
#define LOOK_MOST_NS     160000000u
#define BASE_EVERY_NS    1000000000u /* then elapsed times, in float, are exact to 60 ns */
#define BASE_TRIES       5u
#define BASE_GOOD_NS     15000u   /* from recording to seeing that it has ended */
#define BASE_PATIENCE_NS 1000000u /* another stream may share our hardware queue */
#define READ_PATIENCE_NS 1000000000u
#define EMPTY_PAIRS      16u
#define QUEUED_NS        2000u /* the events' clock against ours */
#define HELD_NS          20000u
#define BASE_LASTS_NS    5000000000u /* until the clocks are too far apart: 10 us each second */

/* What a kernel or copy needs between two events beyond an empty pair, and how much that varies:
 * 2.1 us in all between events in a full queue, +- 0.2 (H100, driver 580). */
#define AROUND_NS       800u
#define AROUND_ERROR_NS 300u

#define NOT_READY      600
#define RELAXED        2
#define NON_BLOCKING   1u
#define LEGACY_STREAM  1u
#define THREADS_STREAM 2u

enum pair_state { PAIR_FREE, PAIR_TAKEN, PAIR_DONE };

struct gv_pair {
    _Atomic uint32_t state;
    uint32_t number; /* of the sample */
    uint32_t one_of;
    uint32_t works; /* enum gv_gpu_work */
    void *before, *after, *stream;
    uint64_t begun_ns, end_ns; /* of the real call */
    uint64_t after_ns;         /* when the second event was in the stream */
};

enum ring_state { RING_NONE, RING_MAKING, RING_READY, RING_GONE, RING_FAILED };

/* The events of a context. */
struct ring {
    _Atomic uint32_t state;
    _Atomic uint32_t next;
    _Atomic uint64_t context;
    struct gv_pair pairs[PAIRS];
    /* The rest is for the thread that reads. */
    void *stream, *base, *other_base, *spare;
    uint64_t base_ns, base_error_ns; /* when `base` was, on our clock; 0: never */
    uint64_t empty_ns, empty_error_ns;
    bool knows_empty;
};

GV_HOT _Atomic uint32_t gv_pairs_are_on;

static void *_Atomic ring_memory;
/* By slot, as threads come and go; the last one is for all that have none. */
static void *_Atomic site_memory[GV_SPOOL_SLOTS + 1];
static _Atomic uint32_t numbers;
static uint64_t token;            /* of the process that has our thread */
static _Atomic uint32_t reading;  /* futex: our thread is in calls with a context's events */
static _Atomic uint32_t asked;    /* futex: grows; odd: the last time */
static _Atomic uint32_t answered; /* futex: what was asked */
static struct gv_thread writer;
static struct gv_spool_slot no_slot;

static struct gv_own_cost_total *costs(void)
{
    return gv_process.spool.header->own_cost;
}

/* False in a forked child. */
static bool is_ours(void)
{
    return token && token == gv_process_token_now();
}

/* ---- which calls ---- */

/* Fixed before a call of the block is drawn, so that each is chosen with the same probability: as
 * many calls as come in SAMPLE_EVERY_NS, but growing slowly, so that short runs have samples. */
static uint32_t next_of(uint64_t of, uint64_t took_ns)
{
    uint64_t most = of + of / 8 + 1;

    if (!of)
        return 1;
    of = of * SAMPLE_EVERY_NS / (took_ns ? took_ns : 1);
    if (of > most)
        of = most;
    if (of > INT32_MAX / 4)
        of = INT32_MAX / 4;
    return of ? (uint32_t)of : 1;
}

static struct gv_pair_sites *sites_of(const struct gv_thread *thread)
{
    uintptr_t slot = (uintptr_t)(thread->slot - gv_process.spool.slots);

    return gv_lazy_memory(&site_memory[slot < GV_SPOOL_SLOTS ? slot : GV_SPOOL_SLOTS],
                          sizeof(struct gv_pair_sites));
}

/* One of how many the call is; 0: it is not chosen. */
static uint32_t choose(struct gv_thread *thread, const struct gv_pair_call *call)
{
    uint32_t site = gv_pairs_site(call), of, at;
    struct gv_pair_block *block;
    uint64_t now_ns;

    if (!thread->pair_sites) {
        thread->pair_sites = sites_of(thread);
        if (!thread->pair_sites || !gv_pairs_count(thread, call))
            return 0;
    }
    block = &thread->pair_sites->blocks[site];
    now_ns = gv_clock_now_ns();
    of = block->of ? block->of : 1;
    block->of = next_of(block->of, now_ns - block->at_ns);
    block->at_ns = now_ns;
    at = 1 + (uint32_t)((gv_mix(now_ns, site) >> 32) * block->of >> 32);
    thread->pair_sites->in[site] = (int32_t)(block->rest + at);
    block->rest = block->of - at;
    return of;
}

/* A call that waited for a lock of the driver does not pay for that. */
static void pay(struct gv_thread *thread, uint64_t start_ns, bool is_new)
{
    uint64_t took_ns = gv_clock_now_ns() - start_ns;

    if (is_new) {
        gv_own_cost_add(costs(), GV_OWN_COST_PAIRS, took_ns);
    } else {
        atomic_fetch_add_explicit(&costs()[GV_OWN_COST_PAIRS].total_ns, took_ns,
                                  memory_order_relaxed);
    }
    gv_budget_spend(&thread->pairs, took_ns, HELD_NS);
}

/* What the driver has of an attribute: its number, and its value from the eighth byte on. */
struct attribute {
    uint32_t id, reserved;
    int32_t value[16];
};

bool gv_pairs_allow(const void *attributes, unsigned count)
{
    const struct attribute *at = attributes;
    /* Without an effect on what is beside the launch in its stream: windows of caches, cooperation,
     * clusters, priority, domains, shared memory. */
    const uint32_t harmless = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 8 |
                              1u << 9 | 1u << 10 | 1u << 11 | 1u << 14;

    for (unsigned i = 0; at && i < count; i++) {
        bool is_unset = at[i].id == 6 && at[i].value[0] == 0; /* programmatic serialisation */

        if (!is_unset && (at[i].id >= 32 || !(harmless >> at[i].id & 1)))
            return false;
    }
    return true;
}

/* ---- a context's events ---- */

static bool make_events(struct ring *ring)
{
    const struct gv_driver_calls *driver = &gv_driver_calls;
    void **single[] = {&ring->base, &ring->other_base, &ring->spare};

    if (driver->stream_create(&ring->stream, NON_BLOCKING) != 0)
        return false;
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        if (driver->event_create(single[i], 0) != 0)
            return false;
    for (size_t i = 0; i < PAIRS; i++)
        if (driver->event_create(&ring->pairs[i].before, 0) != 0 ||
            driver->event_create(&ring->pairs[i].after, 0) != 0)
            return false;
    return true;
}

/* Another stream may be recording a graph, which allows less. */
static void make_ring(struct ring *ring, uint64_t context)
{
    int mode = RELAXED;
    bool is_made;

    atomic_store(&ring->context, context);
    if (gv_driver_calls.thread_exchange_capture_mode(&mode) != 0) {
        atomic_store(&ring->state, RING_FAILED);
        return;
    }
    is_made = make_events(ring);
    gv_driver_calls.thread_exchange_capture_mode(&mode);
    atomic_store(&ring->state, is_made ? RING_READY : RING_FAILED);
}

/* Whether nobody uses it any more: our thread reads no ring, and no thread is in a call with one of
 * its pairs. Then it is as new. */
static bool is_left(struct ring *ring)
{
    if (atomic_load(&reading))
        return false;
    for (size_t i = 0; i < PAIRS; i++) {
        uint32_t done = PAIR_DONE;

        if (!atomic_compare_exchange_strong(&ring->pairs[i].state, &done, PAIR_FREE) &&
            done == PAIR_TAKEN)
            return false;
    }
    ring->base_ns = 0;
    ring->knows_empty = false;
    return true;
}

/* One that was never used, or whose context is gone. Another thread may be making one for the same
 * context, or may have made it since the caller looked. */
static struct ring *new_ring(struct ring *rings, uint64_t context)
{
    for (size_t i = 0; i < CONTEXTS; i++) {
        struct ring *ring = &rings[i];
        uint32_t state = atomic_load(&ring->state);

        if (state == RING_READY && atomic_load(&ring->context) == context)
            return ring;
        if (state == RING_READY || state == RING_FAILED)
            continue;
        if (state == RING_MAKING ||
            !atomic_compare_exchange_strong(&ring->state, &state, RING_MAKING))
            return NULL;
        if (is_left(ring)) {
            make_ring(ring, context);
            return atomic_load(&ring->state) == RING_READY ? ring : NULL;
        }
        atomic_store(&ring->state, RING_GONE);
    }
    return NULL;
}

/* The ring of the current context; NULL: it has none now. */
static struct ring *ring_of(uint64_t context)
{
    struct ring *rings = gv_lazy_memory(&ring_memory, CONTEXTS * sizeof *rings);

    for (size_t i = 0; rings && i < CONTEXTS; i++) {
        uint32_t state = atomic_load_explicit(&rings[i].state, memory_order_acquire);

        if (state == RING_MAKING) /* perhaps for this one */
            return NULL;
        if ((state == RING_READY || state == RING_FAILED) &&
            atomic_load(&rings[i].context) == context)
            return state == RING_READY ? &rings[i] : NULL;
    }
    return rings ? new_ring(rings, context) : NULL;
}

static struct gv_pair *claim(struct ring *ring)
{
    for (unsigned i = 0; i < TRIES; i++) {
        struct gv_pair *pair = &ring->pairs[atomic_fetch_add(&ring->next, 1) % PAIRS];
        uint32_t state = PAIR_FREE;

        if (atomic_compare_exchange_strong(&pair->state, &state, PAIR_TAKEN))
            return pair;
    }
    return NULL;
}

static void drop(struct gv_pair *pair)
{
    atomic_store_explicit(&pair->state, PAIR_FREE, memory_order_release);
}

/* ---- around a call ---- */

/* As the events' calls have it: 0 is the legacy stream there. */
static void *stream_of(const struct gv_pair_call *call)
{
    uint64_t stream = call->stream;

    if (stream == 0 && gv_api_rows[call->api].per_thread)
        stream = THREADS_STREAM;
    return (void *)(uintptr_t)stream;
}

/* In a stream of this context that is not being captured. The legacy stream refuses the question
 * while another one is captured that it would wait for. */
static bool is_usable(void *stream, uint64_t context)
{
    uint64_t handle = (uintptr_t)stream;
    void *of = NULL;
    int capturing = 0;

    if (gv_driver_calls.stream_is_capturing(stream, &capturing) != 0 || capturing)
        return false;
    if (handle <= THREADS_STREAM)
        return true;
    return gv_driver_calls.stream_get_context(stream, &of) == 0 && (uintptr_t)of == context;
}

static struct gv_pair *begin(struct gv_thread *thread, const struct gv_pair_call *call)
{
    void *stream = stream_of(call);
    struct ring *ring;
    struct gv_pair *pair;

    if (!is_usable(stream, thread->context))
        return NULL;
    ring = ring_of(thread->context);
    pair = ring ? claim(ring) : NULL;
    if (!pair)
        return NULL;
    pair->stream = stream;
    pair->works = gv_call_kinds[gv_api_rows[call->api].kind].work;
    if (gv_driver_calls.event_record(pair->before, stream) == 0)
        return pair;
    drop(pair);
    return NULL;
}

bool gv_pairs_begin(struct gv_thread *thread, const struct gv_pair_call *call)
{
    uint32_t one_of = choose(thread, call);
    struct gv_pair *left = thread->pair, *pair;
    uint64_t start_ns;
    int saved_errno;

    if (__builtin_expect(!one_of, 1) || !is_ours())
        return false;
    /* First, as a handler may leave this one, too, and the pair be another thread's by then. */
    thread->pair = NULL;
    if (left) /* of a call that was left */
        drop(left);
    start_ns = gv_clock_now_ns();
    gv_budget_grow(&thread->pairs, GV_BUDGET_PAIRS_OF_1000, start_ns);
    if (!thread->context || thread->pairs.left_ns <= 0) {
        gv_own_cost_spare(costs(), GV_OWN_COST_PAIRS);
        return false;
    }
    saved_errno = gv_own_work_begin();
    pair = begin(thread, call);
    if (pair) {
        pair->one_of = one_of;
        do /* 0 is no number */
            pair->number = atomic_fetch_add(&numbers, 1) + 1;
        while (!pair->number);
        thread->correlation = pair->number;
        thread->pair = pair;
    } else {
        gv_own_cost_spare(costs(), GV_OWN_COST_PAIRS);
    }
    pay(thread, start_ns, pair != NULL);
    if (pair)
        pair->begun_ns = gv_clock_now_ns();
    gv_own_work_end(saved_errno);
    return pair != NULL;
}

void gv_pairs_end(struct gv_thread *thread, int32_t result, uint64_t end_ns)
{
    struct gv_pair *pair = thread->pair;
    int saved_errno;

    thread->pair = NULL;
    if (!pair)
        return;
    if (result != 0) {
        drop(pair);
        return;
    }
    saved_errno = gv_own_work_begin();
    pair->end_ns = end_ns;
    if (gv_driver_calls.event_record(pair->after, pair->stream) == 0) {
        pair->after_ns = gv_clock_now_ns();
        atomic_store_explicit(&pair->state, PAIR_DONE, memory_order_release);
    } else {
        drop(pair);
    }
    pay(thread, end_ns, false);
    gv_own_work_end(saved_errno);
}

/* ---- reading ---- */

static bool elapsed(void *from, void *to, int64_t *ns)
{
    float ms = 0;

    if (gv_driver_calls.event_elapsed_time(&ms, from, to) != 0)
        return false;
    *ns = (int64_t)((double)ms * 1e6);
    return true;
}

static bool await(void *event)
{
    uint64_t end_ns = gv_monotonic_ns() + BASE_PATIENCE_NS;
    int result;

    while ((result = gv_driver_calls.event_query(event)) == NOT_READY && gv_monotonic_ns() < end_ns)
        continue;
    return result == 0;
}

/* Learns when an event of ours was, in an idle stream of ours. */
static void measure_base(struct ring *ring)
{
    uint64_t best_ns = 2 * HELD_NS; /* what took longer tells nothing */

    for (unsigned i = 0; i < BASE_TRIES && best_ns > BASE_GOOD_NS; i++) {
        uint64_t from_ns = gv_clock_now_ns(), to_ns;
        void *event = ring->other_base;

        if (gv_driver_calls.event_record(event, ring->stream) != 0 || !await(event))
            return;
        to_ns = gv_clock_now_ns();
        if (to_ns - from_ns >= best_ns)
            continue;
        best_ns = to_ns - from_ns;
        ring->other_base = ring->base;
        ring->base = event;
        ring->base_ns = from_ns + best_ns / 2;
        ring->base_error_ns = best_ns / 2;
    }
}

static int by_size(const void *left, const void *right)
{
    int64_t one = *(const int64_t *)left, other = *(const int64_t *)right;

    return (one > other) - (one < other);
}

/* What two events with nothing between them are apart. */
static void measure_empty(struct ring *ring)
{
    int64_t apart_ns[EMPTY_PAIRS];
    unsigned count = 0;

    for (unsigned i = 0; i < EMPTY_PAIRS; i++) {
        if (gv_driver_calls.event_record(ring->spare, ring->stream) != 0 ||
            gv_driver_calls.event_record(ring->other_base, ring->stream) != 0 ||
            !await(ring->other_base))
            return;
        count += elapsed(ring->spare, ring->other_base, &apart_ns[count]);
    }
    if (count < EMPTY_PAIRS / 2)
        return;
    qsort(apart_ns, count, sizeof apart_ns[0], by_size);
    ring->empty_ns = (uint64_t)apart_ns[count / 2];
    ring->empty_error_ns = (uint64_t)(apart_ns[count - 1 - count / 8] - apart_ns[count / 8]) / 2;
    ring->knows_empty = true;
}

/*
 * A pair in a full queue is longer than the work by what the events take. Where the stream waited
 * for the call, its first event was over before the call had returned, and that time is in the
 * pair, too. And where the work had ended when the second event came, it is not known when.
 */
static void write_sample(const struct ring *ring, const struct gv_pair *pair, int64_t since_ns,
                         int64_t apart_ns)
{
    uint64_t from_ns = ring->base_ns + (uint64_t)since_ns, to_ns = from_ns + (uint64_t)apart_ns;
    bool is_queued = from_ns + QUEUED_NS >= pair->end_ns;
    uint64_t gap_ns = is_queued ? 0 : pair->end_ns - pair->begun_ns;
    uint64_t rest_ns = to_ns > pair->after_ns + QUEUED_NS ? 0 : pair->after_ns - pair->end_ns;
    /* Such a call is the copy itself, from or to pageable memory. */
    uint64_t before_ns = gap_ns > HELD_NS && pair->works == GV_GPU_WORK_MOVE ? 0 : gap_ns;
    int64_t bias_ns = (int64_t)(ring->empty_ns + AROUND_NS + before_ns + rest_ns / 2);
    uint64_t error_ns = ring->empty_error_ns + AROUND_ERROR_NS + (gap_ns + rest_ns) / 2;
    union gv_record record = {
        .gpu_sample = {.head = {.kind = GV_RECORD_GPU_SAMPLE, .result = is_queued},
                       .start_ns = from_ns + before_ns,
                       .duration_ns = apart_ns > bias_ns ? (uint64_t)(apart_ns - bias_ns) : 0,
                       .bias_ns = (uint32_t)bias_ns,
                       .error_ns = error_ns < UINT32_MAX ? (uint32_t)error_ns : UINT32_MAX,
                       .clock_error_ns = (uint32_t)ring->base_error_ns,
                       .correlation = pair->number,
                       .one_of = pair->one_of}};

    /* The call did something else first, such as loading its code; or the thread had no CPU. */
    if ((gap_ns > HELD_NS && pair->works != GV_GPU_WORK_MOVE) || rest_ns > HELD_NS)
        return;
    gv_thread_write(&writer, GV_ROOM_REST, &record);
}

/* False: it has not ended. */
static bool read_pair(struct ring *ring, struct gv_pair *pair)
{
    int64_t since_ns, apart_ns;
    int result = gv_driver_calls.event_query(pair->after);

    if (result == NOT_READY)
        return false;
    if (result == 0 && elapsed(ring->base, pair->before, &since_ns) &&
        elapsed(pair->before, pair->after, &apart_ns) && apart_ns >= 0)
        write_sample(ring, pair, since_ns, apart_ns);
    drop(pair);
    return true;
}

static bool is_done(struct gv_pair *pair)
{
    return atomic_load_explicit(&pair->state, memory_order_acquire) == PAIR_DONE;
}

/* Its context is current. Returns whether pairs could be read. Where the clocks cannot be compared,
 * as our stream does not come to its turn, they are given back unread. */
static bool read_current(struct ring *ring)
{
    bool was_any = false, can_read;

    for (size_t i = 0; i < PAIRS && !was_any; i++)
        was_any = is_done(&ring->pairs[i]);
    if (!was_any)
        return false;
    if (!ring->knows_empty)
        measure_empty(ring);
    if (!ring->base_ns || gv_clock_now_ns() - ring->base_ns > BASE_EVERY_NS)
        measure_base(ring);
    can_read =
        ring->knows_empty && ring->base_ns && gv_clock_now_ns() - ring->base_ns < BASE_LASTS_NS;
    for (size_t i = 0; i < PAIRS; i++) {
        if (!is_done(&ring->pairs[i]))
            continue;
        if (can_read)
            read_pair(ring, &ring->pairs[i]);
        else
            drop(&ring->pairs[i]);
    }
    return can_read;
}

static bool read_ring(struct ring *ring)
{
    bool was_any = false;

    atomic_store(&reading, 1);
    /* Who ends a context says so first, and then waits while we read. Before that, the ring may
     * have become another context's. */
    if (atomic_load(&ring->state) == RING_READY &&
        gv_driver_calls.context_set_current((void *)(uintptr_t)atomic_load(&ring->context)) == 0) {
        was_any = read_current(ring);
        gv_driver_calls.context_set_current(NULL);
    }
    atomic_store(&reading, 0);
    gv_futex_wake(&reading); /* also if the ring has been made anew meanwhile */
    return was_any;
}

static bool read_all(void)
{
    struct ring *rings = atomic_load(&ring_memory);
    bool was_any = false;

    for (size_t i = 0; rings && i < CONTEXTS; i++)
        if (atomic_load(&rings[i].state) == RING_READY)
            was_any |= read_ring(&rings[i]);
    return was_any;
}

/* Until the last request, or no other thread is left: libc ends a process with its last thread. */
static void *run(void *context)
{
    uint64_t pause_ns = LOOK_LEAST_NS, spent_ns = 0, now_ns;
    int mode = RELAXED;
    uint32_t known = 0;

    (void)context;
    prctl(PR_SET_NAME, "gpuverify-gpu");
    writer.tid = (uint32_t)syscall(SYS_gettid);
    gv_driver_calls.thread_exchange_capture_mode(&mode);
    while (!(known & 1) && !gv_session_is_last_thread()) {
        gv_futex_wait(&asked, known, pause_ns);
        known = atomic_load(&asked);
        pause_ns = read_all() ? LOOK_LEAST_NS : pause_ns * 2;
        if (pause_ns > LOOK_MOST_NS)
            pause_ns = LOOK_MOST_NS;
        now_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID);
        gv_own_cost_add(costs(), GV_OWN_COST_THREAD, now_ns - spent_ns);
        spent_ns = now_ns;
        atomic_store(&answered, known);
        gv_futex_wake(&answered);
    }
    return NULL;
}

/* ---- what the rest of the library calls ---- */

static bool has_calls(void)
{
    const struct gv_driver_calls *driver = &gv_driver_calls;

    return driver->context_set_current && driver->event_create && driver->event_record &&
           driver->event_query && driver->event_elapsed_time && driver->stream_create &&
           driver->stream_is_capturing && driver->stream_get_context &&
           driver->thread_exchange_capture_mode;
}

const char *gv_pairs_start(void)
{
    if (token)
        return "this process was forked without exec";
    if (!has_calls())
        return "the driver lacks a function that sampling needs";
    token = gv_process_token_now();
    writer = (struct gv_thread){.token = token, .slot = &no_slot, .serial = GV_SPOOL_GPU_THREAD};
    if (gv_own_thread_start(run, NULL, STACK_BYTES) != 0) {
        token = 0;
        return "cannot start a thread";
    }
    atomic_store(&gv_pairs_are_on, 1);
    return NULL;
}

void gv_pairs_void(uint64_t context)
{
    struct ring *rings = atomic_load(&ring_memory);
    uint64_t end_ns = gv_monotonic_ns() + READ_PATIENCE_NS;

    if (!rings || !is_ours())
        return;
    int saved_errno = gv_own_work_begin();
    for (size_t i = 0; i < CONTEXTS; i++) {
        uint32_t ready = RING_READY, failed = RING_FAILED;

        if ((!context || atomic_load(&rings[i].context) == context) &&
            !atomic_compare_exchange_strong(&rings[i].state, &ready, RING_GONE))
            atomic_compare_exchange_strong(&rings[i].state, &failed, RING_GONE);
    }
    while (atomic_load(&reading) && gv_futex_wait_until(&reading, 1, end_ns))
        continue;
    gv_own_work_end(saved_errno);
}

bool gv_pairs_fetch(uint64_t patience_ns, bool is_last)
{
    uint64_t end_ns = gv_monotonic_ns() + patience_ns;
    uint32_t mine, known, before = atomic_load(&asked);

    if (!is_ours())
        return true;
    do {
        if (before & 1)
            return true;
        mine = before + (is_last ? 1 : 2);
    } while (!atomic_compare_exchange_weak(&asked, &before, mine));
    if (is_last)
        atomic_store(&gv_pairs_are_on, 0);
    gv_futex_wake(&asked);
    while ((int32_t)((known = atomic_load(&answered)) - mine) < 0)
        if (!gv_futex_wait_until(&answered, known, end_ns))
            return false;
    return true;
}
