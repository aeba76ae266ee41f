/*
 * What a thread of the program keeps while it records: its segment, its slot, how deep in hooked
 * calls it is. Only the thread itself touches it.
 */
#ifndef GV_BASE_THREAD_H
#define GV_BASE_THREAD_H

#include "preload/base/own_process.h"
#include "trace/call_table.h"
#include "trace/spool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What every call touches comes first, in two cache lines: a driver leaves little of ours there. */
struct gv_thread {
    _Alignas(64) uint64_t token; /* of gv_process_own when it joined; 0: not yet */
    union gv_record *next;       /* next free record of the segment */
    union gv_record *end;        /* behind its last one */
    struct gv_spool_segment *segment;
    struct gv_spool_slot *slot; /* of its own, or one that nobody reads */
    uint64_t outer_start_ns;
    uintptr_t outer_frame; /* where the outermost call's frame lies on the stack */
    uint64_t jumped_ns;    /* when it longjmp()ed with hooked calls open; 0: it did not */
    uint64_t launched;     /* handle of a kernel that a call inside the outermost one launched */
    uint64_t loaded;       /* handle that a load inside the outermost call made */
    uint64_t context;      /* current context; 0: ask the driver */
    uint32_t depth;        /* hooked calls that this thread is in */
    uint32_t correlation;  /* of the call being made; the CUPTI module writes it, or nobody */
    uint16_t outer_api;
    uint16_t inner_api; /* the innermost call, from the second one on */
    bool joining;       /* it is about to attach the process, or to join */
    bool writing;       /* a group of records, see gv_thread_begin_group() */
    uint8_t open_to;    /* enum gv_spool_room: who may write into its segment */

    uint64_t serial;
    uint64_t records;           /* in segments that are closed */
    union gv_record *polls;     /* the first of the POLL records that stand last, */
    union gv_record *polls_end; /* if that is still `next` */
    uintptr_t stack_low;        /* of the thread's own stack: [low, high); 0: not asked yet */
    uintptr_t stack_high;
    uint32_t sequence; /* of the next segment */
    uint32_t tid;
    char comm[GV_SPOOL_COMM_BYTES]; /* its name, as last seen */
};

extern _Thread_local struct gv_thread gv_thread __attribute__((tls_model("initial-exec")));

/* Does this thread write to the spool of this very process? */
static inline bool gv_thread_is_live(const struct gv_thread *thread)
{
    uint64_t token = gv_process_token_now();

    return __builtin_expect(token != 0 && thread->token == token, 1);
}

/* The same, and no thread is starting the GPU's side meanwhile (preload/process/gpu_start.h). */
static inline bool gv_thread_may_call(const struct gv_thread *thread)
{
    uint64_t token = atomic_load_explicit(&gv_process_own_now()->open, memory_order_relaxed);

    return __builtin_expect(token != 0 && thread->token == token, 1);
}

/* Called by the thread that attaches the process, before any thread joins. 0 or -errno. */
int gv_thread_prepare(void);

/* Gets the thread a slot, attaching the process first if need be. False: it does not record. */
bool gv_thread_join(struct gv_thread *thread);

/* A new segment, or false: the record that was to be written is lost. */
bool gv_thread_next_segment(struct gv_thread *thread, enum gv_spool_room room);

/*
 * Around a group of records, and whatever is decided for it: a signal handler that interrupts the
 * thread in between, and calls CUDA, must not write into the middle. Its call is counted as lost
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

/* Room for one record of a group that has begun, or NULL. gv_thread_publish() must follow. */
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

/* Text in as many TEXT records as it takes, the last one without MORE unless `more`. */
void gv_thread_write_text(struct gv_thread *thread, const char *text, uint32_t bytes, bool more);

/* How much of a text is written: its length, or GV_RECORD_TEXT_LIMIT. */
uint32_t gv_thread_text_bytes(const char *text);

#endif
