/*
 * The module: the thread that fetches CUPTI's records, and what the library asks of it.
 *
 * On the program's threads, only starting calls CUPTI. There is no unloading, and no
 * cuptiFinalize(): beside launching threads, it made launches of graphs crash and kernels fail with
 * illegal addresses (docs/limits.md).
 */
#include "trace/gpu_module.h"

#include "cupti/buffers.h"
#include "cupti/library.h"
#include "cupti/loaded.h"
#include "cupti/output.h"
#include "cupti/switch.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/spool_control.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES   (2u << 20) /* the program's exit handlers may run on it */
#define ASKING_TRIES  100        /* of 2 ms, for a thread that is just requesting a buffer */
#define FIRST_MOST_NS 500000000  /* usually 0.1 ms, but CUPTI may hang */

/* After another profiler's last call: it may make further ones. */
#define BACK_AFTER_NS 300000000u
#define BACK_EVERY_NS 100000000u

static struct gv_gpu_host host;

enum request {
    ASKED_NOTHING,
    ASKED_A_WISH,
    ASKED_FOR_EVERYTHING, /* and then continue */
    ASKED_FOR_LAST,
};
static _Atomic uint32_t asked;    /* futex: enum request */
static _Atomic uint32_t answered; /* futex: what was done */
static _Atomic uint32_t is_ready; /* futex: the fetching thread has flushed once */

/* What is recorded: enum gv_recording, or GOING_BACK. Only the fetching thread changes it. */
#define GOING_BACK 0u
static _Atomic uint32_t recording;
static bool stays_away; /* going back has failed */
static bool have_calls; /* the records that come have the numbers of our calls */

/* What threads of the program wait for, and how many have begun to wait. */
#define WISH_LEAVE  1u
#define WISH_PEERS  2u
#define WISH_FOLLOW 4u
static _Atomic uint32_t wishes;
static _Atomic uint32_t wished;
static _Atomic uint32_t fulfilled; /* futex: how many of them need not wait any more */

/* ---- fetching ---- */

static void note_dropped(void)
{
    size_t dropped = 0;

    if (gv_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_SUCCESS && dropped)
        atomic_fetch_add_explicit(&host.spool->header->gpu.dropped, dropped, memory_order_relaxed);
}

/* Only for the fetching thread: records are missing, and nobody else counts them. */
static void note_failure(CUptiResult result, const char *what)
{
    struct gv_spool_gpu *gpu = &host.spool->header->gpu;

    if (result == CUPTI_SUCCESS || atomic_load(&gpu->failed))
        return;
    gv_switch_explain(gpu->why, result, what, "some or all of what ran on the GPU is missing");
    atomic_store(&gpu->failed, 1);
}

/* What CUPTI returns otherwise belongs to another profiler. */
static bool is_ours(void)
{
    uint32_t now = atomic_load(&recording);

    return now != GV_RECORDING_OTHER && now != GV_RECORDING_STOPPED;
}

/* The buffers since the last pause began; only for the fetching thread. */
static unsigned fetched;

/* Of buffers that have come back. The collector drops the rest: what ran before the stop was seen.
 */
static struct gv_records_unwanted unwanted(void)
{
    static struct gv_records_unwanted now = {.since_ns = UINT64_MAX};
    static uint32_t known;
    static uint64_t looked_ns;
    uint32_t changes = atomic_load(&host.spool->header->control.changes);
    uint64_t now_ns = host.now_ns();

    now.all = changes & 1;
    /* One that has ended again was after the last look. */
    if (changes != known && (now.all || changes - known > 1))
        now.since_ns = now.all ? now_ns : looked_ns;
    known = changes;
    looked_ns = now_ns;
    return now;
}

static void read_full(void)
{
    struct gv_buffer *buffer = gv_buffers_full(), *next;
    struct gv_records_unwanted left_out = unwanted();

    for (; buffer; buffer = next) {
        next = buffer->next;
        fetched++;
        note_failure(gv_records_read(buffer, have_calls, left_out), "cuptiActivityGetNextRecord");
        gv_buffers_recycle(buffer);
    }
    gv_buffers_refill();
}

static void note_own_cost(void)
{
    static uint64_t noted_ns; /* by this thread; preload/idle adds that of its own */
    uint64_t now_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID);

    gv_own_cost_add(host.spool->header->own_cost, GV_OWN_COST_THREAD, now_ns - noted_ns);
    noted_ns = now_ns;
}

static void flush(bool forced)
{
    uint64_t before_ns = host.now_ns();

    if (is_ours())
        note_failure(gv_cupti.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0),
                     "cuptiActivityFlushAll");
    gv_loaded_write();
    read_full();
    for (uint64_t unread = gv_buffers_unread(); unread > 0; unread--)
        gv_output_count_lost();
    if (is_ours())
        note_dropped();
    atomic_store_explicit(&host.spool->header->gpu.flushed_ns, before_ns, memory_order_release);
    note_own_cost();
}

/* All buffers of before the last mark. One that a program's thread is just requesting comes with a
 * later flush. */
static void flush_until_none(void)
{
    flush(true);
    for (int i = 0; i < ASKING_TRIES && is_ours() && gv_buffers_marked() > 0; i++) {
        gv_pause_ns(2000000);
        flush(true);
    }
}

/* The thread that asked for everything continued without it, and so did the program: this is not
 * the end. */
static _Atomic bool fetch_timed_out;

/* CUPTI may be gone after the exit handlers that follow ASKED_FOR_LAST, so nothing calls it after
 * that. */
static void flush_all(enum request which)
{
    gv_buffers_mark();
    flush_until_none();
    if (!atomic_load(&host.spool->header->gpu.failed) &&
        (which == ASKED_FOR_LAST || !atomic_load(&fetch_timed_out)))
        atomic_store(&host.spool->header->gpu.finished, 1);
    atomic_store(&answered, which);
    gv_futex_wake(&answered);
}

/* ---- other profilers in the program ---- */

static void note_recording(enum gv_recording now, uint64_t at_ns)
{
    bool is_others = now == GV_RECORDING_OPERATIONS || now == GV_RECORDING_OTHER;
    uint32_t bytes = is_others ? gv_spool_text_bytes(host.other->file) : 0;
    union gv_record record = {.recording = {.head = {.kind = GV_RECORD_RECORDING,
                                                     .flags = bytes ? GV_RECORD_MORE : 0,
                                                     .api = (uint16_t)now},
                                            .at_ns = at_ns,
                                            .text_bytes = bytes}};

    atomic_store(&recording, now);
    have_calls = now == GV_RECORDING_ALL;
    if (gv_output_write(&record))
        gv_output_text(host.other->file, bytes);
}

static void step_aside(void)
{
    uint64_t before_ns = host.now_ns();

    if (is_ours()) {
        gv_switch_records_off();
        gv_buffers_mark();
        flush_until_none();
        gv_switch_off();
    }
    if (atomic_load(&recording) != GV_RECORDING_OTHER)
        note_recording(GV_RECORDING_OTHER, before_ns);
}

static bool is_stopped(void)
{
    return gv_control_is_stopped(&host.spool->header->control);
}

static bool is_used_by_other(void)
{
    return atomic_load(&host.other->subscriber) || atomic_load(&host.other->kinds);
}

/*
 * After cuptiFinalize() we stay away: the profiler may still be inside that call, or start again,
 * and coming back broke its next session. We also stay away while it has callbacks for calls:
 * PyTorch's calls cuptiFinalize() in one of them (TEARDOWN_CUPTI=1).
 */
static bool other_is_done(void)
{
    const struct gv_gpu_other *other = host.other;

    return atomic_load(&other->inside) == 0 && atomic_load(&other->kinds) == 0 &&
           !atomic_load(&other->is_finalized) &&
           !(atomic_load(&other->subscriber) && atomic_load(&other->watches_calls)) &&
           gv_monotonic_ns() - atomic_load(&other->last_ns) >= BACK_AFTER_NS;
}

static void go_back_if_possible(void)
{
    uint32_t before = atomic_load(&recording);
    enum gv_recording now;
    uint64_t on_ns;
    int error;

    if (is_ours() || stays_away || is_stopped() || !other_is_done())
        return;
    /* From here on, the other profiler's calls wait for us. But one may have started before. */
    atomic_store(&recording, GOING_BACK);
    if (!other_is_done()) {
        atomic_store(&recording, before);
        return;
    }
    if (gv_buffers_are_others())
        note_failure(gv_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
                     "cuptiActivityFlushAll");
    error = gv_switch_on(true, &now);
    on_ns = host.now_ns();
    if (error) {
        atomic_store(&recording, before);
        stays_away = true;
    } else {
        note_recording(now, on_ns);
        if (!atomic_load(&host.spool->header->gpu.started_ns))
            atomic_store(&host.spool->header->gpu.started_ns, host.now_ns());
    }
}

/* A process that begins stopped does without CUPTI until it is started. After that CUPTI stays on:
 * switching its records beside launching threads crashes now and then (docs/limits.md), and without
 * them, launches of graphs would take longer. */
static void follow(void)
{
    if (atomic_load(&recording) == GV_RECORDING_STOPPED && !is_stopped() &&
        (is_used_by_other() || stays_away))
        step_aside();
    go_back_if_possible();
}

/* For all threads that have asked until now. */
static void fulfil(void)
{
    uint32_t until = atomic_load(&wished);
    uint32_t what;

    /* Before the wishes are taken: one may be there whose thread has not counted it yet. */
    if (until == atomic_load(&fulfilled))
        return;
    what = atomic_exchange(&wishes, 0);
    if (what & WISH_PEERS)
        gv_switch_records_peers(is_ours());
    if (what & WISH_LEAVE)
        step_aside();
    if (what & WISH_FOLLOW)
        follow();
    atomic_store(&fulfilled, until);
    gv_futex_wake(&fulfilled);
}

/* ---- the fetching thread ---- */

static void serve(void)
{
    uint32_t request = atomic_load(&asked);

    if (request == ASKED_FOR_LAST)
        return;
    atomic_compare_exchange_strong(&asked, &request, ASKED_NOTHING);
    fulfil();
    if (request == ASKED_FOR_EVERYTHING)
        flush_all(ASKED_FOR_EVERYTHING);
    else
        flush(false);
    follow();
}

/*
 * The thread may use a hundredth of a CPU. After a fetch that takes more and brings little, the
 * pause is up to five times as long. After one that brings much it is not: that work has to be done
 * anyway, and buffers would pile up.
 */
#define BUDGET       100u
#define LATEST_TIMES 5u
#define MUCH_BUFFERS 3u

/* How long to wait after a fetch that took this much CPU time. */
static uint64_t pause_after_ns(uint64_t took_ns)
{
    uint64_t usual_ns = (uint64_t)host.flush_ms * 1000000u;
    uint64_t wanted_ns = took_ns * BUDGET;

    if (!is_ours())
        return usual_ns < BACK_EVERY_NS ? usual_ns : BACK_EVERY_NS;
    if (wanted_ns <= usual_ns || fetched >= MUCH_BUFFERS)
        return usual_ns;
    gv_own_cost_spare(host.spool->header->own_cost, GV_OWN_COST_THREAD);
    return wanted_ns < usual_ns * LATEST_TIMES ? wanted_ns : usual_ns * LATEST_TIMES;
}

/* If CUPTI has almost all buffers that there are, they come back although work in them still runs:
 * the records of that are lost, and counted. */
static bool read_in_between(void)
{
    if (gv_buffers_are_short())
        flush(true);
    else if (gv_buffers_are_many())
        read_full();
    else
        return false;
    return true;
}

/* Waits for a request, or until the pause is over. A busy GPU may fill many buffers meanwhile:
 * those are read without a flush. */
static void await_request(uint64_t pause_ns)
{
    uint64_t end_ns = gv_monotonic_ns() + pause_ns;

    fetched = 0;
    while (gv_futex_wait_until(&asked, ASKED_NOTHING, end_ns) && read_in_between())
        ;
}

/*
 * Runs until the last flush is requested and done, or no other thread is left. libc ends a process
 * with its last thread, which is then this one.
 */
static void *run(void *context)
{
    uint64_t pause_ns = pause_after_ns(0), begun_ns;

    (void)context;
    prctl(PR_SET_NAME, "gpuverify-gpu");
    note_recording((enum gv_recording)atomic_load(&recording),
                   is_ours() ? atomic_load(&host.spool->header->gpu.started_ns) : host.now_ns());
    /* Makes CUPTI allocate its per-thread data now: the program may run out of memory later, and
     * the dynamic loader would then end it. */
    flush(false);
    atomic_store(&is_ready, 1);
    gv_futex_wake(&is_ready);
    while (atomic_load(&asked) != ASKED_FOR_LAST && !gv_session_is_last_thread()) {
        await_request(pause_ns);
        begun_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID);
        serve();
        pause_ns = pause_after_ns(gv_time_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns);
    }
    fulfil();
    flush_all(ASKED_FOR_LAST);
    return NULL;
}

/* ---- what the library calls ---- */

/* If no step has given a reason. */
static int explain(int error)
{
    if (error && !host.why[0])
        snprintf(host.why, GV_SPOOL_WHY_BYTES, "out of memory or threads: %s", strerror(-error));
    return error;
}

/* Before the next time for it. */
static void wake(void)
{
    gv_futex_wake(&asked);
}

static int start(const struct gv_gpu_host *given)
{
    struct gv_spool_gpu *gpu = &given->spool->header->gpu;
    enum gv_recording now = GV_RECORDING_ALL;
    int error;

    host = *given;
    error =
        gv_cupti_library_open(host.cupti_path, host.driver_version, host.why, GV_SPOOL_WHY_BYTES);
    if (!error && !host.is_wanted())
        error = -ECANCELED;
    if (error)
        return error;
    snprintf(gpu->library, sizeof gpu->library, "%s", gv_cupti.path);
    atomic_store(&gpu->cupti_version, gv_cupti.version);
    gv_output_start(host.spool);
    gv_switch_prepare(&host, wake);
    error = gv_buffers_prepare(host.other, wake);
    /* The program's profiler may have started before its first CUDA call. */
    if (!error && is_used_by_other())
        now = GV_RECORDING_OTHER;
    else if (!error && is_stopped())
        now = GV_RECORDING_STOPPED;
    else if (!error)
        error = gv_switch_on(false, &now);
    if (error)
        return explain(error);
    atomic_store(&recording, now);
    if (is_ours())
        atomic_store(&gpu->started_ns, host.now_ns());
    if (!host.claim())
        error = -ECANCELED;
    if (!error)
        error = host.start_thread(run, NULL, STACK_BYTES);
    if (!error) {
        gv_futex_wait(&is_ready, 0, FIRST_MOST_NS);
    } else if (now == GV_RECORDING_ALL) {
        gv_switch_records_off();
        gv_switch_off();
    }
    return explain(error);
}

/* Whether it was done in time. */
static bool await_answer(enum request which, uint64_t patience_ns)
{
    uint64_t end_ns = gv_monotonic_ns() + patience_ns;
    uint32_t known;

    wake();
    while ((known = atomic_load(&answered)) < (uint32_t)which)
        if (!gv_futex_wait_until(&answered, known, end_ns))
            return false;
    return true;
}

static void finish(uint64_t patience_ns)
{
    atomic_store(&asked, ASKED_FOR_LAST);
    await_answer(ASKED_FOR_LAST, patience_ns);
    gv_output_hurry();
}

/* False: this or more was asked for before. */
static bool ask(enum request request)
{
    uint32_t before = atomic_load(&asked);

    while (before < (uint32_t)request)
        if (atomic_compare_exchange_weak(&asked, &before, request))
            return true;
    return false;
}

static bool fetch(uint64_t patience_ns)
{
    uint32_t everything = ASKED_FOR_EVERYTHING;

    atomic_compare_exchange_strong(&answered, &everything, ASKED_NOTHING);
    if (!ask(ASKED_FOR_EVERYTHING))
        return true;
    atomic_store(&fetch_timed_out, false);
    if (await_answer(ASKED_FOR_EVERYTHING, patience_ns))
        return true;
    atomic_store(&fetch_timed_out, true);
    return false;
}

/* Once it was waited for in vain, CUPTI hangs: nobody waits again. */
static void wish(uint32_t what, uint64_t patience_ns)
{
    static _Atomic bool is_vain;
    uint64_t end_ns = gv_monotonic_ns() + (atomic_load(&is_vain) ? 0 : patience_ns);
    uint32_t mine, known;

    atomic_fetch_or(&wishes, what);
    mine = atomic_fetch_add(&wished, 1) + 1;
    ask(ASKED_A_WISH);
    wake();
    while ((int32_t)((known = atomic_load(&fulfilled)) - mine) < 0)
        if (!gv_futex_wait_until(&fulfilled, known, end_ns)) {
            atomic_store(&is_vain, true);
            return;
        }
}

static void yield(uint64_t patience_ns)
{
    if (is_ours())
        wish(WISH_LEAVE, patience_ns);
}

static void go_on(uint64_t patience_ns)
{
    if (!is_ours())
        wish(WISH_FOLLOW, patience_ns);
}

static void record_peers(uint64_t patience_ns)
{
    wish(WISH_PEERS, patience_ns);
}

static uintptr_t library(void)
{
    return (uintptr_t)gv_cupti.cuptiGetVersion;
}

__attribute__((visibility("default"))) extern const struct gv_gpu_module gv_gpu_module;
const struct gv_gpu_module gv_gpu_module = {
    .version = GV_GPU_MODULE_VERSION,
    .start = start,
    .finish = finish,
    .fetch = fetch,
    .record_peers = record_peers,
    .yield = yield,
    .go_on = go_on,
    .library = library,
    .buffer_callbacks = gv_switch_buffer_callbacks,
};
