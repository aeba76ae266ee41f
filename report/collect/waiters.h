/*
 * Who waits for the collector itself: a process that collects orphans and waits until it has no
 * child left, or a tracer. Such a process gets the collector as a child, and the two would wait for
 * each other. For the collector, of its own process.
 */
#ifndef GV_COLLECT_WAITERS_H
#define GV_COLLECT_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether our parent or tracer is `root`, or descends from it. */
bool gv_waiters_are_below(uint32_t root);

/* Whether our parent waits for its children, and has no other child. False if /proc hides it. */
bool gv_waiters_parent_waits(void);

/* Whether the main thread of a process waits for a child. */
bool gv_waiters_is_waiting(uint32_t pid);

#endif
