/*
 * How long the thread of a slow call has waited for a CPU so far. The collector compares the
 * readings after one call and the next (report/collect/ingest.c).
 */
#ifndef GV_HOOKS_RUN_DELAY_H
#define GV_HOOKS_RUN_DELAY_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* GPUVERIFY_STALL_US: shorter calls are not measured. */
extern uint64_t gv_run_delay_least_ns;

static inline bool gv_run_delay_wanted(uint64_t duration_ns)
{
    return duration_ns >= gv_run_delay_least_ns;
}

/* Call it when the process attaches, with its settings. */
void gv_run_delay_prepare(const struct gv_settings *settings);

/* Writes it for the call of the next record, which ended at `end_ns`, into that record's `room`,
 * inside a group. Takes some microseconds if the thread has left its CPU since the last one, else a
 * tenth of that. Writes nothing if the Linux kernel does not report it. */
void gv_run_delay_write(struct gv_thread *thread, enum gv_spool_room room, uint64_t end_ns);

#endif
