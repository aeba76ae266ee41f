/*
 * Writes the advice of report/analyse/stalls/causes.def for one stall. Any thread.
 */
#ifndef GV_ANALYSE_STALLS_ADVICE_H
#define GV_ANALYSE_STALLS_ADVICE_H

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/causes.h"

#include "trace/environment.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_ADVICE_BYTES 8192
#define GV_ADVICE_LATE  12
#define GV_ADVICE_VALUE 64

/* What is known of a stall. NULL, 0 or empty: unknown. Texts are not trusted. */
struct gv_advice_facts {
    const char *call, *kernel, *waited_kernel, *waited_kind, *presumed, *blocker, *blocker_cause,
        *where, *blocker_where, *other_name, *other_did, *host_name, *host_where;
    int64_t other_pid;
    int64_t jit_ns, drained;
    int64_t host_ns; /* a host function that was waited for ran so long; 0: there was none */
    bool in_flight;  /* the call has not returned */
    bool unsure;     /* whether the call waited or compiled */
    int64_t again;   /* how often this code was loaded into this context, if more than once */
    int64_t again_ns;
    /* what the call loaded or unloaded */
    const char *module_kind, *module_name;
    int64_t module_bytes;
    int arch; /* 90: sm_90 */
    int64_t eager_count, eager_ns;
    /* of the process: "=VALUE"; "": not set */
    char environment[GV_ENVIRONMENT_COUNT][GV_ADVICE_VALUE];
    bool in_library;             /* the call came through gv_advice_library() */
    int64_t pool_count, pool_ns; /* what the process lost by pools that gave memory back */
    /* kernels that the process loaded late */
    char late[GV_ADVICE_LATE][GV_KERNEL_NAME_BYTES];
    int late_count, late_more;
};

void gv_advice_write(const struct gv_advice_facts *facts, enum gv_cause cause,
                     char out[GV_ADVICE_BYTES]);

/* Adds a kernel that the process loaded late. */
void gv_advice_remember(struct gv_advice_facts *facts, const char *kernel);

/* The library, a glob, that calls of this cause may come through, as the note on a variable of the
 * process says; NULL: none. */
const char *gv_advice_library(const struct gv_advice_facts *facts, enum gv_cause cause);

#endif
