/*
 * Writes calls that do not return into the trace while the program still hangs in them.
 *
 * A process of which one call is older than GPUVERIFY_WATCHDOG gets rows of `in_flight` for all its
 * calls, with what can be said about why; they are written anew while it lasts, and go when the
 * calls have returned. For the collector, one thread.
 */
#ifndef GV_COLLECT_WATCHDOG_H
#define GV_COLLECT_WATCHDOG_H

#include "report/collect/drain.h"

#include <stdint.h>

struct gv_watchdog {
    int64_t limit_ms; /* 0: off */
    int64_t next_ms;  /* when to look again, in CLOCK_MONOTONIC */
};

/* Reads GPUVERIFY_WATCHDOG. */
void gv_watchdog_start(struct gv_watchdog *watchdog);

/* Looks, if it is time, in transactions of its own. To be called after a pass that went well: it
 * also tells the processes' records when they were last looked at. 0, or -errno: the next pass
 * starts anew. */
int gv_watchdog_look(struct gv_watchdog *watchdog, struct gv_drain *drain);

#endif
