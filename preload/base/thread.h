/*
 * The state of a recording thread: its segment, its slot, its depth in hooked calls. Only the
 * thread itself uses it.
 */
#ifndef GV_BASE_THREAD_H
#define GV_BASE_THREAD_H

#include "preload/base/own_process.h"
#include "trace/call_table.h"
#include "trace/spool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* preload/base/budget.h */
struct gv_budget {
    int64_t left_ns; /* negative: borrowed */
    uint64_t at_ns;  /* when it last grew; 0: never */
};

/* The fields that every call uses come first, in two cache lines: after a driver call, few of
 * our lines are still cached. */
struct gv_thread {
    _Alignas(64) uint64_t token; /* of gv_process_own when it joined; 0: not yet */
    union gv_record *next;       /* next free record of the segment */
    union gv_record *end;        /* after its last record */
    struct gv_spool_segment *segment;
    struct gv_spool_slot *slot; /* its own, or one that nobody reads */
    uint64_t outer_start_ns;
    uintptr_t outer_frame; /* the outermost call's frame on the stack */
    uint64_t jumped_ns;    /* when it longjmp()ed out of our code; 0: it did not */
    uint64_t launched;     /* handle of a kernel that a nested call launched */
    uint64_t loaded;       /* handle that a nested load made */
    uint64_t context;      /* current context; 0: ask the driver */
    uint32_t depth;        /* depth of hooked calls */
    uint32_t correlation;  /* of the current call; written by the CUPTI module, or preload/sample */
    uint16_t outer_api;
    uint16_t inner_api;       /* the innermost call, from the second one on */
    bool joining;             /* it is attaching the process, or joining */
    bool writing;             /* a group of records, see gv_thread_begin_group() */
    uint8_t open_to;          /* enum gv_spool_room: who may write into its segment */
    bool adds_node;           /* to a graph: the current call */
    bool makes_graph;         /* that can be launched: the current call */
    uint32_t sample_in;       /* preload/stacks/samples.h: calls until one is chosen, */
    uint64_t sample_until_ns; /* and when it is too old */
    uintptr_t stack_high;     /* of the thread's stack: [low, high); 0: unknown */

    uintptr_t stack_low;
    uint64_t serial;
    uint64_t records;           /* in closed segments */
    union gv_record *polls;     /* the first of the POLL records at the end, */
    union gv_record *polls_end; /* if that is still `next` */
    uint64_t sample_calls;
    uint64_t sample_random;
    uint32_t sample_gap;
    uint32_t sample_rest;
    uint32_t sample_of;
    struct gv_budget stacks, pairs;
    uint64_t run_delay_ns; /* preload/hooks/run_delay.c: as last read, */
    uint64_t left_cpu;     /* when it had left its CPU this often, plus one; 0: never read */
    uint32_t sequence;     /* of the next segment */
    uint32_t tid;
    uint32_t copy; /* of its stack, until a record has it: the first chunk plus one; 0: none */
    uint32_t copy_chunks;             /* preload/stacks/stack_copy.c */
    uint64_t copy_serial;             /* 0: it is not finished */
    struct gv_pair *pair;             /* preload/sample/pairs.h: around its call; NULL: none */
    struct gv_pair_sites *pair_sites; /* NULL: not yet */
    char comm[GV_SPOOL_COMM_BYTES];   /* its name when last read */
};

extern _Thread_local struct gv_thread gv_thread __attribute__((tls_model("initial-exec")));

/* Whether this thread writes to the spool of this very process. */
static inline bool gv_thread_is_live(const struct gv_thread *thread)
{
    uint64_t token = gv_process_token_now();

    return __builtin_expect(token != 0 && thread->token == token, 1);
}

/* The same, and no thread is starting the GPU side (preload/process/gpu_start.h). */
static inline bool gv_thread_may_call(const struct gv_thread *thread)
{
    uint64_t token = atomic_load_explicit(&gv_process_own.open, memory_order_relaxed);

    return __builtin_expect(token != 0 && thread->token == token, 1);
}

/* Called by the attaching thread before any thread joins. 0 or -errno. */
int gv_thread_prepare(void);

/* Gives the thread a slot; attaches the process first if needed. False: it does not record. */
bool gv_thread_join(struct gv_thread *thread);

/* Takes a new segment. False: the next record is lost. */
bool gv_thread_next_segment(struct gv_thread *thread, enum gv_spool_room room);

/*
 * Put these around a group of records and the decisions for it: a signal handler that interrupts
 * the thread and calls CUDA must not write in between. Its call is counted as lost
 * (preload/hooks/calls.c). Nests: end with what begin returned.
 */
static inline bool gv_thread_begin_group(struct gv_thread *thread)
{
    bool inside = thread->writing;

    thread->writing = true;
    atomic_signal_fence(memory_order_seq_cst);
    return inside;
}

static inline void gv_thread_end_group(struct gv_thread *thread, bool inside)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->writing = inside;
}

/* Room for one record of the current group, or NULL. Then call gv_thread_publish(). */
static inline union gv_record *gv_thread_reserve(struct gv_thread *thread, enum gv_spool_room room)
{
    if (__builtin_expect(thread->next >= thread->end || room > thread->open_to, 0) &&
        !gv_thread_next_segment(thread, room))
        return NULL;
    return thread->next;
}

static inline void gv_thread_publish(struct gv_thread *thread)
{
    thread->next++;
    atomic_store_explicit(&thread->segment->published,
                          (uint32_t)(thread->next - thread->segment->records),
                          memory_order_release);
}

/* Counts in the thread's slot. Not by a locked instruction, which would wait until the processor
 * has stored what the driver wrote: only the slot's present thread writes there. */
static inline void gv_thread_count(_Atomic uint64_t *counter)
{
    uint64_t count = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, count + 1, memory_order_relaxed);
}

/*
 * Writes one record of the current group. False: there is no room.
 *
 * What is written around many calls is made in its place instead, between reserve and publish. A
 * record that was just put together on the stack is copied by loads wider than its fields, which
 * wait until the processor has stored these, and so for all that the driver stored before: its
 * write to the GPU takes long.
 */
static inline bool gv_thread_write(struct gv_thread *thread, enum gv_spool_room room,
                                   const union gv_record *record)
{
    union gv_record *into = gv_thread_reserve(thread, room);

    if (!into)
        return false;
    *into = *record;
    gv_thread_publish(thread);
    return true;
}

/* Writes a text in as many TEXT records as needed, the last one without MORE unless `more`. False:
 * there was no room for all of it. */
bool gv_thread_write_text(struct gv_thread *thread, const char *text, uint32_t bytes, bool more);

#endif
