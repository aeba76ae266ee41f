/*
 * Of a call that took long: how long the kernel has kept its thread waiting for a processor so far.
 * The collector compares what it is after one call and after the next (report/collect/ingest.c).
 */
#ifndef GV_HOOKS_RUN_DELAY_H
#define GV_HOOKS_RUN_DELAY_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* GPUVERIFY_STALL_US: a call that took less is never told of. */
extern uint64_t gv_run_delay_least_ns;

static inline bool gv_run_delay_wanted(uint64_t duration_ns)
{
    return duration_ns >= gv_run_delay_least_ns;
}

/* To be called when the process attaches, with its settings. */
void gv_run_delay_prepare(const struct gv_settings *settings);

/* Writes it for the call whose record comes next, into that one's `room`, and which ended at
 * `end_ns`; inside a group. Takes some microseconds. Nothing where the kernel does not tell. */
void gv_run_delay_write(struct gv_thread *thread, enum gv_spool_room room, uint64_t end_ns);

#endif
