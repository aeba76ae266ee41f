/*
 * Shared by the simulated libcupti's parts.
 *
 * The simulated driver reports work through tests/sim/tracing.h on the calling thread. It is stored
 * as activity records in the client's buffers, in the layout of the version (GV_CUPTI_API is 18 for
 * CUDA 11.8, 22 for 12.4, 130000 for 13.0; see records.h).
 *
 * One lock for the buffers, one for the names; neither is held during a client's callback. What a
 * client must not do with the real library ends the process with a message: any call in a forked
 * child, and a flush in a buffer callback.
 */
#ifndef GV_TESTS_SIM_CUPTI_SIM_H
#define GV_TESTS_SIM_CUPTI_SIM_H

#include "tests/sim/tracing.h"

#include <cupti.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_CUPTI_EXPORT __attribute__((visibility("default")))
#define GV_CUPTI_KINDS  ((unsigned)CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS + 1)
#define GV_CUPTI_CBIDS  1024u

#pragma GCC visibility push(hidden)

/* entry.c: each export starts with GV_CUPTI_ENTER. */
struct gv_cupti_settings {
    uint64_t late_ns, ask_us, flush_ns;
    uint64_t drop_every; /* 0: none */
    uint64_t lose_every; /* the same, uncounted */
    unsigned start_us;   /* how long it takes to subscribe */
    uint32_t version;    /* 0: its own */
    const char *owner;   /* another tool that has the subscription */
    bool shared;         /* several subscribers at once, as a later CUPTI may allow */
    const char *log_path;
};
extern struct gv_cupti_settings gv_cupti_settings;
CUptiResult gv_cupti_enter(const char *name);
void gv_cupti_die(const char *what) __attribute__((noreturn));
void gv_cupti_complain(const char *what);
#define GV_CUPTI_ENTER()                                                                           \
    do {                                                                                           \
        CUptiResult gv_entered = gv_cupti_enter(__func__);                                         \
        if (gv_entered)                                                                            \
            return gv_entered;                                                                     \
    } while (0)

/* The driver (driver.c); NULL without one. Attaches on the first call. */
const struct gv_sim_tracing *gv_cupti_driver(void);
CUptiResult gv_cupti_no_driver(void); /* why there is none; CUPTI_SUCCESS: there is one */
extern const struct gv_sim_tracer gv_cupti_tracer; /* tracer.c */
CUpti_CallbackId gv_cupti_cbid(unsigned symbol);
const char *gv_cupti_cbid_name(CUpti_CallbackId cbid);

/* activity.c */
extern _Atomic bool gv_cupti_kinds[GV_CUPTI_KINDS];
extern _Atomic bool gv_cupti_driver_apis[GV_CUPTI_CBIDS];
static inline bool gv_cupti_on(CUpti_ActivityKind kind)
{
    return atomic_load_explicit(&gv_cupti_kinds[kind], memory_order_relaxed);
}
/* The calling thread's innermost external id of each kind; false: none. */
void gv_cupti_kinds_forget(void);
/* The program ends if CUPTI does not know the graph that is launched. */
void gv_cupti_check_graph(uint32_t graph);
bool gv_cupti_external(CUpti_ExternalCorrelationKind kind, uint64_t *id);

/* clock.c: the client's clock, now and at a time of the simulator's. */
void gv_cupti_clock_set(CUpti_TimestampCallbackFunc function);
uint64_t gv_cupti_clock_now(void);
uint64_t gv_cupti_clock_at(uint64_t sim_ns);

/* buffers.c. A record counts as complete at complete_ns of the simulator's clock. */
void gv_cupti_buffers_set(CUpti_BuffersCallbackRequestFunc request,
                          CUpti_BuffersCallbackCompleteFunc complete);
bool gv_cupti_buffers_ready(void);
void gv_cupti_buffers_zeroed(bool zeroed);
void gv_cupti_record_add(const void *record, size_t size_bytes, uint64_t complete_ns);
void gv_cupti_record_dropped(void);
size_t gv_cupti_dropped_take(void);
void gv_cupti_flush(bool forced);
void gv_cupti_buffers_forget(void); /* what has not been delivered; and the client's callbacks */

/* records.c: sizes in this version; 0 for a kind that it does not have. */
size_t gv_cupti_record_bytes(CUpti_ActivityKind kind);
/* The offset of `start` in a record of GPU work, followed by `end`; 0: it is not one. */
size_t gv_cupti_record_start(CUpti_ActivityKind kind);
void gv_cupti_record_operation(const struct gv_sim_operation *operation);
void gv_cupti_record_call(CUpti_CallbackId cbid, uint64_t start_ns, uint64_t end_ns,
                          uint32_t correlation, uint32_t result);
void gv_cupti_record_jit(enum gv_sim_jit_kind kind, uint64_t start_ns, uint64_t end_ns,
                         uint32_t device, uint32_t correlation);
void gv_cupti_record_overhead(enum gv_sim_overhead_kind kind, uint64_t start_ns, uint64_t end_ns,
                              uint32_t correlation);
void gv_cupti_record_wait(enum gv_sim_wait_kind kind, uint32_t context, uint32_t stream,
                          uint64_t start_ns, uint64_t end_ns, uint32_t correlation, int result);
/* One permanent copy of each name. */
const char *gv_cupti_name(const char *name);

/* callbacks.c */
void gv_cupti_callbacks_forget(void); /* all subscribers */
struct gv_cupti_call {                /* on the stack of the thread that makes the call */
    CUpti_CallbackId cbid;
    uint32_t correlation;
    uint64_t start_ns;
    uint64_t client_data;
};
void gv_cupti_callback_call(struct gv_cupti_call *call, CUpti_ApiCallbackSite site, int *result);
void gv_cupti_callback_resource(CUpti_CallbackIdResource cbid, const CUpti_ResourceData *data);

#pragma GCC visibility pop
#endif
