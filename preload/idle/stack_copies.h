/*
 * Copies of the stacks of blocked threads, for the collector to unwind: the same wait is copied
 * once. One thread uses it.
 */
#ifndef GV_IDLE_STACK_COPIES_H
#define GV_IDLE_STACK_COPIES_H

#include "preload/base/thread.h"
#include "trace/thread_state.h"

#include <stdint.h>

/* Forgets what a parent process has copied. */
void gv_stack_copies_start_over(void);

/*
 * Writes the native side of a blocked thread's stack, unless it was written or there were too many
 * in this second. `python`: the number of its STACK with the Python frames; 0: it has none. The
 * number of its STACK; 0: none. Inside a group, which continues.
 */
uint32_t gv_stack_copies_write(struct gv_thread *writer, const struct gv_thread_state *state,
                               uint32_t python, uint64_t now_ns);

#endif
