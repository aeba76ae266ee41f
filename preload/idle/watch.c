#include "preload/idle/watch.h"

#include "preload/base/clock.h"
#include "preload/base/loader_lock.h"
#include "preload/base/log.h"
#include "preload/base/own_memory.h"
#include "preload/base/own_thread.h"
#include "preload/base/thread.h"
#include "preload/idle/children.h"
#include "preload/idle/cpus.h"
#include "preload/idle/locks.h"
#include "preload/idle/quota.h"
#include "preload/idle/stack_copies.h"
#include "preload/idle/tasks.h"
#include "preload/stacks/python_threads.h"
#include "trace/futex.h"
#include "trace/mix.h"
#include "trace/proc_file.h"
#include "trace/spool_control.h"
#include "trace/thread_state.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define STACK_BYTES        (2u << 20) /* the program's exit handlers may run on it */
#define LOOKER_STACK_BYTES (512u << 10)
#define NICE               5
#define SLICE_NS           100000u
#define BESIDE_MOST        128u /* threads of Python, */
#define BESIDE_TRIES       8u   /* of which so many are asked at a look */
#define THREADS_MOST       8u   /* in one look: those that made the latest calls */
#define KNOWN_MOST         64u  /* their files are open, three each */
#define PATIENCE_NS        10000000u
#define SECOND_NS          1000000000u
#define ALONE_NS           250000000u  /* between two looks for other threads */
#define SEARCH_NS          200000000u  /* between two searches for child processes, at least, */
#define SEARCH_OF_1000     2u          /* and of a CPU, half of what looks may take, */
#define SEARCH_MOST_NS     5000000000u /* but what is known of them is no older */
#define QUOTA_NS           100000000u  /* between two questions for the quota */
#define CHILDREN_LOOKED_AT 4u          /* with their Python stacks, in one search */
#define PRESET_HZ          50u
#define COST_OF_1000       4u      /* of a CPU, at the preset rate */
#define COST_AT_ONCE_NS    5000000 /* so that short runs get all their looks */
#define TRIES_OF_100       25u     /* of the time since the last look, ran */
#define DELAYED_OF_100     25u     /* of the time since the last look: asks for the quota */

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

/* A thread outside of calls. */
struct chosen {
    struct gv_spool_slot *slot;
    uint64_t serial;        /* 0: none */
    uint64_t call_start_ns; /* of its last call */
    uint32_t tid;
};

/* What it does, by the last look at it. */
struct watched {
    struct chosen chosen;
    struct gv_thread_files files;
    uint64_t at_ns; /* 0: there was none */
    struct gv_thread_state state;
    uint64_t since_ns;     /* what the look before it said */
    uint64_t ran_after_ns; /* the last look after which it has run; 0: none */
    uint64_t cpu_before_ns;
    uint64_t delay_ns;   /* how long it waited for a CPU since then, */
    uint64_t claimed_ns; /* of which the Linux kernel has not yet counted this */
    uint32_t python;     /* number of the STACK with its Python frames */
    uint32_t stack;
    enum gv_idle_target target;
    uint8_t signs;
    int allowed;             /* CPUs, if it may not use all; 0: all */
    uint64_t round_ns;       /* when the round of the last look began, */
    uint64_t process_cpu_ns; /* CPU time of the process by then, */
    uint64_t process_cpus;   /* and since the look before it, in hundredths of a CPU */
    bool waits_for_gil;
    bool has_seen_lock; /* since its first look */
    char path[GV_RECORD_TEXT_LIMIT];
    struct beside {
        uint32_t tid; /* 0: none */
        uint32_t stack;
        enum gv_idle_target target;
        struct gv_thread_state state;
        bool has_gil;
    } beside,         /* another thread, if it waits for one */
        owner;        /* of a lock for which threads wait, and the stack of one that waits */
    uint32_t waiting; /* for that lock, beside this one */
    bool wants_lock,
        tells_lock; /* tells: the last look asked for locks, and there is one, or was */
};

static _Atomic uint32_t paused;
static _Atomic uint32_t looking; /* futex */

/* The rest belongs to the thread. */
static struct gv_thread writer;
static struct gv_spool_slot no_slot;
static struct watched watched[KNOWN_MOST];
static struct gv_child *children;
static unsigned child_count, child_turn;
static uint64_t started_ns, alone_ns, spent_ns, quota_ns;
static uint64_t searched_ns, search_span_ns, search_again_ns;
static bool quota_was_used_up;            /* then */
static bool knows_locks;                  /* in this round of looks */
static uint64_t round_ns, process_cpu_ns; /* when this round began, and of the process by then */
static uint32_t pid;
static bool allowed_ptrace;
static bool keeps_files;
static bool was_filtered; /* its system calls, when it was started */

static bool read_own(void *context, void *to, uintptr_t from, size_t bytes)
{
    (void)context;
    return gv_own_memory_read(to, from, bytes);
}

/* ---- which threads ---- */

static bool is_outside(const struct chosen *thread)
{
    const struct gv_spool_slot *slot = thread->slot;

    return atomic_load_explicit(&slot->thread, memory_order_acquire) == thread->serial &&
           atomic_load_explicit(&slot->api_plus_one, memory_order_acquire) == 0 &&
           atomic_load_explicit(&slot->start_ns, memory_order_acquire) == thread->call_start_ns;
}

/* Keeps the latest, the latest first. */
static unsigned insert(struct chosen *chosen, unsigned count, const struct chosen *thread)
{
    unsigned at = count < THREADS_MOST ? count : THREADS_MOST;

    while (at > 0 && chosen[at - 1].call_start_ns < thread->call_start_ns) {
        if (at < THREADS_MOST)
            chosen[at] = chosen[at - 1];
        at--;
    }
    if (at == THREADS_MOST)
        return count;
    chosen[at] = *thread;
    return count < THREADS_MOST ? count + 1 : count;
}

/* A slot's number follows from the thread's, so the first ones are used first. */
static unsigned choose_threads(struct chosen *chosen)
{
    uint64_t most =
        atomic_load_explicit(&gv_process.spool.header->threads_seen, memory_order_relaxed) + 1;
    struct chosen thread;
    unsigned count = 0;

    for (unsigned i = 0; i < GV_SPOOL_SLOTS && i < most; i++) {
        thread.slot = &gv_process.spool.slots[i];
        thread.serial = atomic_load_explicit(&thread.slot->thread, memory_order_acquire);
        thread.call_start_ns = atomic_load_explicit(&thread.slot->start_ns, memory_order_acquire);
        thread.tid = atomic_load_explicit(&thread.slot->tid, memory_order_relaxed);
        if (thread.serial && thread.call_start_ns && is_outside(&thread))
            count = insert(chosen, count, &thread);
    }
    return count;
}

/* What is known of a thread; the longest unseen one's place for a new one. */
static struct watched *recall(const struct chosen *thread)
{
    struct watched *oldest = watched;

    for (unsigned i = 0; i < KNOWN_MOST; i++) {
        if (watched[i].chosen.serial == thread->serial && watched[i].chosen.tid == thread->tid) {
            watched[i].chosen = *thread;
            return &watched[i];
        }
        if (watched[i].at_ns < oldest->at_ns)
            oldest = &watched[i];
    }
    if (oldest->chosen.serial)
        gv_thread_files_close(&oldest->files);
    memset(oldest, 0, offsetof(struct watched, path));
    oldest->chosen = *thread;
    oldest->files = GV_THREAD_NO_FILES;
    return oldest;
}

/* ---- what they do ---- */

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static bool is_blocked(const struct gv_thread_state *state)
{
    return state->state == 'S' || state->state == 'D';
}

/* It has just been woken to take the GIL, or tries again: it is ready, but has hardly run. */
static bool tries_for_gil(const struct watched *thread, const struct gv_python_gil *gil)
{
    return thread->python && thread->state.state == 'R' && gil->holder &&
           gil->holder != thread->chosen.tid && thread->since_ns &&
           since(thread->state.cpu_ns, thread->cpu_before_ns) <
               (thread->at_ns - thread->since_ns) / 100 * TRIES_OF_100;
}

static bool waits_for_gil(const struct watched *thread, const struct gv_python_gil *gil)
{
    const struct gv_thread_state *state = &thread->state;

    return gil->is_known && ((gv_thread_state_is_futex(state) && state->arguments[0] >= gil->low &&
                              state->arguments[0] < gil->high) ||
                             tries_for_gil(thread, gil));
}

/* In these, the other side may be a child process. */
static bool may_wait_for_children(const struct watched *thread)
{
    const struct gv_thread_state *state = &thread->state;

    if (!is_blocked(state) || thread->waits_for_gil)
        return false;
    return gv_thread_state_is_wait(state) || gv_thread_state_is_futex(state) ||
           thread->target == GV_IDLE_TARGET_PIPE || thread->target == GV_IDLE_TARGET_SOCKET ||
           thread->target == GV_IDLE_TARGET_NETWORK;
}

/* Whether the collector may stop threads of this process: from the first time on that it is asked
 * for. Yama, if it is there, needs this. */
static bool allows_ptrace(void)
{
    uint32_t collector = atomic_load(&gv_process.session->collector_pid);

    if (!allowed_ptrace && collector) {
        prctl(PR_SET_PTRACER, (unsigned long)collector, 0, 0, 0);
        allowed_ptrace = true;
    }
    return allowed_ptrace;
}

static uint8_t judge_signs(const struct watched *thread, const struct gv_python_gil *gil)
{
    bool has_gil = gil->is_known && gil->holder == thread->chosen.tid;
    unsigned signs = thread->allowed ? GV_IDLE_PINNED : 0;

    if (thread->python)
        signs |= GV_IDLE_IN_PYTHON;
    if (gil->is_known)
        signs |= GV_IDLE_KNOWS_GIL;
    if (has_gil)
        signs |= GV_IDLE_HAS_GIL;
    if (has_gil && gil->collects)
        signs |= GV_IDLE_COLLECTS;
    if (gv_process.settings.idle_stacks == GV_IDLE_STACKS_NATIVE && thread->state.state == 'R' &&
        (!thread->python || (gil->is_known && !has_gil)) && allows_ptrace())
        signs |= GV_IDLE_WANTS_STACK;
    return (uint8_t)signs;
}

/* Why it waited for a CPU. */
static void explain_delay(struct watched *thread)
{
    uint64_t span_ns = thread->at_ns - thread->since_ns;

    if (thread->delay_ns <= span_ns / 100 * DELAYED_OF_100)
        return;
    thread->allowed = gv_cpus_of_thread(thread->chosen.tid);
    if (thread->at_ns - quota_ns >= QUOTA_NS) {
        quota_ns = thread->at_ns;
        quota_was_used_up = gv_quota_was_used_up();
    }
    if (quota_was_used_up)
        thread->signs |= GV_IDLE_THROTTLED;
}

/* ---- records ---- */

static void write_sample(const struct watched *thread, union gv_record *record, const char *text)
{
    struct gv_record_idle_sample *sample = &record->idle_sample;
    uint32_t bytes = gv_spool_text_bytes(text);
    const struct beside *beside = sample->about == GV_IDLE_BESIDE ? &thread->beside
                                  : sample->about == GV_IDLE_LOCK ? &thread->owner
                                                                  : NULL;

    sample->head.kind = GV_RECORD_IDLE_SAMPLE;
    sample->head.flags = bytes ? GV_RECORD_MORE : 0;
    sample->head.api = (uint16_t)bytes;
    sample->head.result = beside ? beside->state.call : thread->state.call;
    sample->at_ns = thread->at_ns;
    sample->since_ns = thread->since_ns;
    sample->tid = thread->chosen.tid;
    sample->stack = thread->stack;
    sample->target = (uint8_t)(beside ? beside->target : thread->target);
    sample->signs = thread->signs;
    if (beside && beside->has_gil)
        sample->signs |= GV_IDLE_HAS_GIL;
    if (sample->about == GV_IDLE_LOCK && thread->wants_lock)
        sample->signs |= GV_IDLE_WANTS_LOCK;
    /* A look may write several records about locks and children; only one has the CPU time. */
    if (thread->since_ns && sample->about != GV_IDLE_LOCK && sample->about != GV_IDLE_CHILD) {
        unsigned cpus = gv_cpus_of_process(pid, thread->at_ns);

        sample->cpus = (uint16_t)(cpus < UINT16_MAX ? cpus : UINT16_MAX);
        sample->process_cpus =
            (uint16_t)(thread->process_cpus < UINT16_MAX ? thread->process_cpus : UINT16_MAX);
    }
    if (gv_thread_write(&writer, GV_ROOM_CODE, record) && bytes)
        gv_thread_write_text(&writer, text, bytes, false);
}

static void write_beside(const struct watched *thread, enum gv_idle_about about,
                         const struct beside *beside, const char *text)
{
    union gv_record record = {.idle_sample = {.about = (uint8_t)about,
                                              .state = beside->state.state,
                                              .other = beside->tid,
                                              .other_stack = beside->stack}};

    write_sample(thread, &record, text);
}

static void write_own(const struct watched *thread, const struct gv_python_gil *gil,
                      uint32_t holder_stack)
{
    union gv_record record = {
        .idle_sample = {.state = thread->state.state,
                        .delay_ns = thread->delay_ns,
                        .cpu_ns = since(thread->state.cpu_ns, thread->cpu_before_ns)}};
    char channel[64] = "";
    const char *text = thread->path;

    if (thread->beside.tid) {
        write_beside(thread, GV_IDLE_BESIDE, &thread->beside, "");
        return;
    }
    if (thread->waits_for_gil) {
        record.idle_sample.about = GV_IDLE_GIL;
        record.idle_sample.other = gil->holder;
        record.idle_sample.other_stack = holder_stack;
    }
    if (thread->state.state == 'D' && !*text &&
        gv_proc_read(channel, sizeof channel, "/proc/%u/task/%u/wchan", pid, thread->chosen.tid) >
            0 &&
        strcmp(channel, "0") != 0)
        text = channel;
    if (thread->state.state == 'R' && !*text && thread->allowed) {
        snprintf(channel, sizeof channel, "%d of %d CPUs", thread->allowed, gv_cpus_online());
        text = channel;
    }
    write_sample(thread, &record, text);
}

/* After the look itself. */
static void write_lock(const struct watched *thread)
{
    char text[32];

    if (!thread->tells_lock)
        return;
    snprintf(text, sizeof text, "%u threads", thread->waiting);
    write_beside(thread, GV_IDLE_LOCK, &thread->owner, text);
}

static void write_child(const struct watched *thread, const struct gv_child *child)
{
    /* of what it did between the last two searches */
    double share = thread->since_ns && search_span_ns
                       ? (double)since(thread->at_ns, thread->since_ns) / (double)search_span_ns
                       : 0;
    union gv_record record = {
        .idle_sample = {.about = GV_IDLE_CHILD,
                        .state = child->state.state,
                        .other = child->pid,
                        .other_stack = child->stack,
                        .delay_ns = (uint64_t)((double)child->delay_ns * share),
                        .cpu_ns = (uint64_t)((double)child->ran_ns * share)}};

    write_sample(thread, &record, child->state.comm);
}

/* ---- child processes ---- */

static struct gv_child *busiest_child(bool works)
{
    struct gv_child *busiest = NULL;

    for (unsigned i = 0; i < child_count; i++)
        if ((children[i].works || !works) && (!busiest || children[i].ran_ns > busiest->ran_ns))
            busiest = &children[i];
    return busiest;
}

/* The next one in turn that works and runs Python; NULL: none. */
static struct gv_child *next_worker(bool python)
{
    for (unsigned i = 0; i < child_count; i++) {
        struct gv_child *child = &children[child_turn++ % child_count];

        if (child->works && (child->is_python || !python))
            return child;
    }
    return NULL;
}

static void look_into(struct gv_child *child)
{
    struct gv_python_gil gil;

    child->stack = 0;
    child->is_python = gv_python_look_begin(child->pid, &gil);
    if (!child->is_python)
        return;
    child->stack = gv_python_look_stack(&writer, gil.holder ? gil.holder : child->pid);
    if (!child->stack && gil.holder && gil.holder != child->pid)
        child->stack = gv_python_look_stack(&writer, child->pid);
    gv_python_look_end();
}

/* Each process takes its time, and one that is new more of it: those of a program that starts some
 * all the time would take all that looks may take. */
static void search_children(uint64_t now_ns)
{
    uint32_t collector = atomic_load(&gv_process.session->collector_pid);
    uint64_t before_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID), cost_ns;
    struct gv_child *child;

    search_span_ns = now_ns - searched_ns;
    searched_ns = now_ns;
    child_count = gv_children_search(search_span_ns, collector, &children);
    child = busiest_child(true);
    if (child)
        look_into(child);
    for (unsigned i = 0; i < CHILDREN_LOOKED_AT && i < child_count; i++) {
        struct gv_child *next = next_worker(false);

        if (next && next != child)
            look_into(next);
    }
    cost_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    search_again_ns = now_ns + cost_ns * 1000 / SEARCH_OF_1000;
    if (search_again_ns < now_ns + SEARCH_NS)
        search_again_ns = now_ns + SEARCH_NS;
    if (search_again_ns > now_ns + SEARCH_MOST_NS)
        search_again_ns = now_ns + SEARCH_MOST_NS;
}

/* Who works for a thread that waits: the busiest process; of an interpreter's workers each in its
 * turn, and several after a search. False: nobody does. */
static bool write_children(const struct watched *thread, bool searched)
{
    struct gv_child *busiest = busiest_child(true);
    unsigned count = searched ? CHILDREN_LOOKED_AT : 1;

    if (!busiest && gv_thread_state_is_wait(&thread->state))
        busiest = busiest_child(false);
    if (!busiest)
        return false;
    if (!busiest->is_python || !busiest->works) {
        write_child(thread, busiest);
        return true;
    }
    for (unsigned i = 0, first = 0; i < count && i < child_count; i++) {
        const struct gv_child *child = next_worker(true);

        if (child->pid == first)
            break;
        first = i == 0 ? child->pid : first;
        write_child(thread, child);
    }
    return true;
}

/* ---- one look ---- */

static bool is_stopped(void)
{
    return atomic_load(&paused) != 0;
}

static bool has_run(const struct gv_thread_state *now, const struct gv_thread_state *before)
{
    return now->cpu_ns != before->cpu_ns || now->delay_ns != before->delay_ns;
}

/* Its CPU clock goes on while it has a CPU; schedstat lags behind. */
static bool has_cpu(uint32_t tid, uint64_t cpu_ns)
{
    uint64_t used_ns = gv_time_ns(gv_cpus_clock(tid));

    return used_ns == 0 || used_ns > cpu_ns;
}

/* The Linux kernel counts a wait for a CPU when it is over. One that goes on is what is left of the
 * time since the last look, if the thread was ready then too. It may have slept in calls. */
static uint64_t delay_since(struct watched *thread, const struct gv_thread_state *now,
                            uint64_t before_ns)
{
    uint64_t counted_ns = since(now->delay_ns, thread->state.delay_ns);
    uint64_t cpu_ns = since(now->cpu_ns, thread->state.cpu_ns), left_ns, outside_ns;
    uint64_t delay_ns = since(counted_ns, thread->claimed_ns);

    thread->claimed_ns = since(thread->claimed_ns, counted_ns);
    if (now->state != 'R' || thread->state.state != 'R' || has_cpu(thread->chosen.tid, now->cpu_ns))
        return delay_ns;
    left_ns = since(thread->at_ns - before_ns, cpu_ns + delay_ns);
    outside_ns = since(thread->at_ns, thread->chosen.call_start_ns);
    if (left_ns > outside_ns)
        left_ns = outside_ns;
    thread->claimed_ns += left_ns;
    return delay_ns + left_ns;
}

/* A thread that was blocked, and has not run since, does what it did. False: it has ended. */
static bool read_state(struct watched *thread, uint64_t before_ns, bool *is_same)
{
    struct gv_thread_state now;
    struct gv_thread_files *files = keeps_files ? &thread->files : NULL;
    uint32_t tid = thread->chosen.tid;

    *is_same = before_ns && is_blocked(&thread->state) &&
               gv_thread_state_times(pid, tid, files, &now) == 0 && !has_run(&now, &thread->state);
    if (*is_same)
        return true;
    if (gv_thread_state_read(pid, tid, files, &now))
        return false;
    thread->cpu_before_ns = before_ns ? thread->state.cpu_ns : now.cpu_ns;
    thread->delay_ns = before_ns ? delay_since(thread, &now, before_ns) : 0;
    thread->state = now;
    return true;
}

/* Whether a thread has run since a time. One that is asked about seldom may be forgotten, and then
 * it has. */
static bool has_run_since(uint32_t tid, const struct gv_thread_state *state, uint64_t at_ns,
                          uint64_t since_ns)
{
    static struct {
        uint32_t tid;
        uint64_t cpu_ns, since_ns; /* when it was first seen with so much */
    } seen[BESIDE_MOST];
    unsigned i = tid % BESIDE_MOST;

    if (seen[i].tid != tid || seen[i].cpu_ns != state->cpu_ns || !is_blocked(state)) {
        seen[i].tid = tid;
        seen[i].cpu_ns = state->cpu_ns;
        seen[i].since_ns = at_ns;
    }
    return seen[i].since_ns > since_ns;
}

/* Inside a look at Python. For a thread that waits for another one, in every look: which of
 * Python's threads it may be is chosen by turns, of those that do not wait so, too, and have run
 * since it ran itself: it has waited before, and one that slept all the time did not end that. */
static void look_beside(struct watched *thread, const struct gv_python_gil *gil, bool is_same)
{
    static uint32_t tids[BESIDE_MOST];
    static unsigned turn;
    struct beside *beside = &thread->beside;
    unsigned count;

    if (!thread->python || thread->waits_for_gil || !gv_thread_state_is_futex(&thread->state))
        return;
    count = gv_python_look_threads(tids, BESIDE_MOST);
    for (unsigned i = 0; i < (is_same ? 1 : BESIDE_TRIES) && i < count; i++) {
        uint32_t tid = tids[turn++ % count];
        char path[GV_RECORD_TEXT_LIMIT];

        if (tid == thread->chosen.tid || gv_thread_state_read(pid, tid, NULL, &beside->state) ||
            gv_thread_state_is_futex(&beside->state) ||
            !has_run_since(tid, &beside->state, thread->at_ns, thread->ran_after_ns))
            continue;
        beside->target =
            gv_thread_state_target(pid, tid, &beside->state, read_own, NULL, path, sizeof path);
        beside->stack = gv_python_look_stack(&writer, tid);
        beside->has_gil = gil->is_known && gil->holder == tid;
        beside->tid = beside->stack ? tid : 0;
        return;
    }
}

/* Where it waits. */
static uint32_t stack_of_waiter(uint32_t tid, uint64_t now_ns, bool has_python)
{
    uint32_t python = has_python ? gv_python_look_stack(&writer, tid) : 0;
    struct gv_thread_state state;

    if (gv_process.settings.idle_stacks == GV_IDLE_STACKS_OFF ||
        gv_thread_state_read(pid, tid, NULL, &state) || !gv_thread_state_is_futex(&state))
        return python;
    return gv_stack_copies_write(&writer, &state, python, now_ns);
}

/* Inside a look at Python, if there is one. What it waits for, or why others wait for it: a lock of
 * the process for which threads wait, and what the thread does that has it. */
static void look_for_lock(struct watched *thread, const struct gv_python_gil *gil, bool has_python)
{
    struct beside *owner = &thread->owner;
    char path[GV_RECORD_TEXT_LIMIT];
    struct gv_lock lock;
    bool is_futex = gv_thread_state_is_futex(&thread->state);

    if (!knows_locks || thread->waits_for_gil || (!is_futex && thread->state.state != 'R'))
        return;
    *owner = (struct beside){.tid = 0};
    thread->waiting = 0;
    thread->tells_lock = thread->has_seen_lock;
    if (!gv_locks_find(thread->chosen.tid, &lock, &thread->wants_lock) ||
        (!is_futex && lock.owner != thread->chosen.tid) ||
        gv_thread_state_read(pid, lock.owner, NULL, &owner->state))
        return;
    owner->tid = lock.owner;
    owner->target =
        gv_thread_state_target(pid, lock.owner, &owner->state, read_own, NULL, path, sizeof path);
    owner->stack = lock.waiter ? stack_of_waiter(lock.waiter, thread->at_ns, has_python) : 0;
    owner->has_gil = gil->is_known && gil->holder == lock.owner;
    thread->waiting = lock.waiting;
    thread->has_seen_lock = thread->tells_lock = true;
}

/* False: it made a call, or has ended. */
static bool look_at(struct watched *thread, const struct gv_python_gil *gil, bool has_python)
{
    const struct gv_thread_state *state = &thread->state;
    uint32_t tid = thread->chosen.tid;
    bool is_same;

    thread->since_ns = thread->at_ns;
    thread->at_ns = gv_clock_now_ns();
    if (thread->since_ns)
        thread->process_cpus = since(process_cpu_ns, thread->process_cpu_ns) * 100 /
                               (since(round_ns, thread->round_ns) + 1);
    thread->round_ns = round_ns;
    thread->process_cpu_ns = process_cpu_ns;
    if (!read_state(thread, thread->since_ns, &is_same)) {
        thread->at_ns = 0;
        return false;
    }
    if (is_stopped() || !is_outside(&thread->chosen)) {
        thread->state.state = '?';
        return false;
    }
    if (is_same) {
        thread->cpu_before_ns = state->cpu_ns;
        thread->delay_ns = 0;
    } else {
        thread->ran_after_ns = thread->since_ns;
        thread->target = gv_thread_state_target(pid, tid, state, read_own, NULL, thread->path,
                                                sizeof thread->path);
        thread->stack = thread->python = has_python ? gv_python_look_stack(&writer, tid) : 0;
        if (gv_process.settings.idle_stacks != GV_IDLE_STACKS_OFF && is_blocked(state))
            thread->stack = gv_stack_copies_write(&writer, state, thread->python, thread->at_ns);
    }
    if (!thread->since_ns)
        thread->allowed = gv_cpus_of_thread(tid);
    thread->waits_for_gil = waits_for_gil(thread, gil);
    thread->signs = judge_signs(thread, gil);
    thread->beside.tid = 0;
    thread->tells_lock = false;
    if (has_python)
        look_beside(thread, gil, is_same);
    look_for_lock(thread, gil, has_python);
    explain_delay(thread);
    return is_outside(&thread->chosen);
}

/* Writes those that wait for no child. Returns how many others there are. */
static unsigned look_at_all(struct watched *waiting[THREADS_MOST])
{
    struct gv_python_gil gil = {.is_known = false};
    struct chosen chosen[THREADS_MOST];
    unsigned count = choose_threads(chosen), waiting_count = 0;
    uint32_t holder_stack = 0;
    bool has_python = count && gv_python_look_begin(0, &gil);

    knows_locks = count && gv_locks_search(pid);
    round_ns = gv_clock_now_ns();
    process_cpu_ns = count ? gv_time_ns(CLOCK_PROCESS_CPUTIME_ID) : 0;
    for (unsigned i = 0; i < count && !is_stopped(); i++) {
        struct watched *thread = recall(&chosen[i]);

        if (!look_at(thread, &gil, has_python) || is_stopped())
            continue;
        if (may_wait_for_children(thread) && gv_children_exist()) {
            waiting[waiting_count++] = thread;
            continue;
        }
        if (thread->waits_for_gil && gil.holder && !holder_stack)
            holder_stack = gv_python_look_stack(&writer, gil.holder);
        write_own(thread, &gil, holder_stack);
        write_lock(thread);
        if (thread->signs & GV_IDLE_WANTS_STACK)
            gv_futex_ring(&gv_process.session->doorbell);
    }
    if (has_python)
        gv_python_look_end();
    return waiting_count;
}

static void look_at_children(struct watched *waiting[], unsigned count)
{
    static const struct gv_python_gil no_gil;
    uint64_t now_ns = gv_clock_now_ns();
    bool searches = count && now_ns >= search_again_ns;

    if (searches)
        search_children(now_ns);
    for (unsigned i = 0; i < count && !is_stopped(); i++)
        if (is_outside(&waiting[i]->chosen) && !write_children(waiting[i], searches)) {
            write_own(waiting[i], &no_gil, 0);
            write_lock(waiting[i]);
        }
}

static void look(void)
{
    struct watched *waiting[THREADS_MOST];
    unsigned count;

    atomic_store(&looking, 1);
    if (!is_stopped() && !gv_spool_writer_is_full(&gv_process.spool, GV_ROOM_REST)) {
        count = look_at_all(waiting);
        look_at_children(waiting, count);
    }
    atomic_store(&looking, 0);
    if (is_stopped())
        gv_futex_wake(&looking);
}

/* ---- the thread ---- */

static void note_cost(void)
{
    uint64_t now_ns = gv_time_ns(CLOCK_THREAD_CPUTIME_ID);

    if (!is_stopped())
        gv_own_cost_add(gv_process.spool.header->own_cost, GV_OWN_COST_THREAD, now_ns - spent_ns);
    spent_ns = now_ns;
}

/* When the next look is paid for. A user who wants more looks than the preset pays for them. */
static uint64_t affordable_ns(uint64_t hz)
{
    uint64_t rate = COST_OF_1000 * (hz > PRESET_HZ ? hz : PRESET_HZ) / PRESET_HZ;

    return spent_ns > COST_AT_ONCE_NS ? started_ns + (spent_ns - COST_AT_ONCE_NS) / rate * 1000 : 0;
}

/* The Linux kernel's struct. */
struct schedule {
    uint32_t bytes;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns; /* from Linux 6.12 on */
    uint64_t deadline_ns;
    uint64_t period_ns;
};

/* Data loaders keep all CPUs busy. There, a thread of nice 19 got 5 to 12 of 37 looks, and one of
 * nice 5 gets 30. A thread that asks for short slices waits less, too. */
static void lower_priority(void)
{
    const struct schedule schedule = {
        .bytes = sizeof schedule, .policy = SCHED_OTHER, .nice = NICE, .slice_ns = SLICE_NS};

    if (sched_getscheduler(0) == SCHED_IDLE || getpriority(PRIO_PROCESS, 0) > NICE)
        return; /* the program has less */
    if (syscall(SYS_sched_setattr, 0, &schedule, 0) < 0)
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

/* Its table of files is its own, so it never disturbs a program that closes all files, or relies on
 * their numbers. */
static void set_apart(void)
{
#ifdef SYS_close_range
    struct rlimit files;

    keeps_files = syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0 &&
                  getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > 4 * KNOWN_MOST;
#endif
    prctl(PR_SET_NAME, "gpuverify-idle");
    lower_priority();
}

static void wait_until(uint64_t at_ns)
{
    struct timespec at = {.tv_sec = (time_t)(at_ns / SECOND_NS),
                          .tv_nsec = (long)(at_ns % SECOND_NS)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Not in step with the program's loops: three to five quarters. */
static uint64_t pause_ns(uint64_t hz, uint64_t now_ns)
{
    uint64_t period_ns = SECOND_NS / hz;

    return period_ns / 4 * 3 + (gv_mix(0, now_ns) >> 32) % (period_ns / 2);
}

/* After a start, as if looks had gone on: programs record for shorter times than a period, too. */
static uint64_t first_pause_ns(uint64_t hz, uint64_t now_ns)
{
    return (gv_mix(0, now_ns) >> 32) % (SECOND_NS / hz);
}

static bool is_alone(uint64_t now_ns)
{
    if (now_ns - alone_ns < ALONE_NS)
        return false;
    alone_ns = now_ns;
    return gv_tasks_are_ours();
}

/* A thread that ends makes more system calls. */
__attribute__((noreturn)) static void sleep_for_ever(void)
{
    static _Atomic uint32_t never;

    for (;;)
        gv_futex_wait_until(&never, 0, UINT64_MAX);
}

/* A filter of system calls that the program has set for all its threads may kill for ours. False as
 * well if there was one from the start, as in a container. */
static bool is_filtered(void)
{
    return !was_filtered && prctl(PR_GET_SECCOMP) != 0;
}

/* False: no look, as recording is or was stopped. A forked child has no such thread. */
static bool wait_for_look(uint64_t at_ns)
{
    const struct gv_spool_control *control = &gv_process.spool.header->control;
    uint32_t changes = atomic_load(&control->changes);

    if (changes & 1)
        gv_futex_wait(&control->changes, changes, ALONE_NS);
    else
        wait_until(at_ns);
    return !(changes & 1) && !gv_control_is_stopped(control);
}

/* Until no thread of the program is left: libc ends a process with its last thread. */
static void *run(void *context)
{
    uint64_t hz = (uint64_t)gv_process.settings.idle_hz, now_ns = gv_monotonic_ns();
    bool looks = true;

    (void)context;
    set_apart();
    gv_cpus_start();
    writer.tid = (uint32_t)syscall(SYS_gettid);
    started_ns = alone_ns = now_ns;
    while (!is_alone(now_ns)) {
        uint64_t next_ns = now_ns + (looks ? pause_ns : first_pause_ns)(hz, now_ns);
        uint64_t paid_ns = affordable_ns(hz);

        if (paid_ns > next_ns)
            next_ns = paid_ns < now_ns + SECOND_NS ? paid_ns : now_ns + SECOND_NS;
        looks = wait_for_look(next_ns);
        if (is_filtered())
            sleep_for_ever();
        now_ns = gv_monotonic_ns();
        if (paid_ns > now_ns || !looks)
            continue;
        look();
        note_cost();
    }
    return NULL;
}

/* Keeps the program's files open for its exit handlers, if libc ends the process with its last
 * thread: the thread that looks has none of them. */
static void *start_and_wait(void *context)
{
    pthread_attr_t attributes;
    pthread_t looker;
    int error = pthread_attr_init(&attributes);

    (void)context;
    prctl(PR_SET_NAME, "gpuverify-files");
    if (!error) {
        error = pthread_attr_setstacksize(&attributes, LOOKER_STACK_BYTES);
        if (!error)
            error = pthread_create(&looker, &attributes, run, NULL);
        if (error == EINVAL)
            error = pthread_create(&looker, NULL, run, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (error)
        gv_log_info("idle time is not explained: no thread for it: %s", strerror(error));
    else
        pthread_join(looker, NULL);
    return NULL;
}

/* ---- what the rest of the library calls ---- */

void gv_idle_start(void)
{
    int error;

    if (gv_process.settings.idle_hz == 0 || gv_loader_is_broken())
        return;
    memset(&writer, 0, sizeof writer);
    memset(watched, 0, sizeof watched);
    writer.token = gv_process_token_now();
    writer.slot = &no_slot;
    writer.serial = GV_SPOOL_IDLE_THREAD;
    pid = gv_process.pid;
    child_count = child_turn = 0;
    searched_ns = gv_clock_now_ns() - SECOND_NS; /* the first search is not delayed */
    search_again_ns = 0;
    spent_ns = quota_ns = 0;
    quota_was_used_up = false;
    allowed_ptrace = keeps_files = false;
    was_filtered = prctl(PR_GET_SECCOMP) != 0;
    gv_children_start_over();
    gv_locks_start_over();
    gv_stack_copies_start_over();
    atomic_store(&paused, 0);
    atomic_store(&looking, 0);
    error = gv_own_thread_start(start_and_wait, NULL, STACK_BYTES);
    if (error)
        gv_log_info("idle time is not explained: no thread for it: %s", strerror(-error));
}

void gv_idle_pause(void)
{
    uint64_t end_ns = gv_monotonic_ns() + PATIENCE_NS;

    atomic_store(&paused, 1);
    while (atomic_load(&looking) && gv_futex_wait_until(&looking, 1, end_ns))
        ;
}

void gv_idle_go_on(void)
{
    atomic_store(&paused, 0);
}
