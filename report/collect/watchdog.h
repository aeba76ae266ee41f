/*
 * Writes calls that do not return into the trace while the program hangs.
 *
 * When a call of a process is older than GPUVERIFY_WATCHDOG, all its unfinished calls get rows in
 * `in_flight`, with their causes. The rows are updated while it lasts, and removed when the calls
 * have returned. For the collector, one thread.
 */
#ifndef GV_COLLECT_WATCHDOG_H
#define GV_COLLECT_WATCHDOG_H

#include "report/collect/drain.h"

#include <stdint.h>

struct gv_watchdog {
    int64_t limit_ms; /* 0: off */
    int64_t next_ms;  /* time of the next look, in CLOCK_MONOTONIC */
};

/* Reads GPUVERIFY_WATCHDOG. */
void gv_watchdog_start(struct gv_watchdog *watchdog);

/* Looks if it is time, in transactions of its own. Call it after a successful pass: it also
 * notes when the processes were last looked at. 0, or -errno: the next pass starts anew. */
int gv_watchdog_look(struct gv_watchdog *watchdog, struct gv_drain *drain);

#endif
