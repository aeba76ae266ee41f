/*
 * A parent for the collector, in a program that would otherwise become it: process 1 of a container
 * and a "child subreaper" are given every orphan below them. Such a program may wait until it has
 * no child any more, and a collector that is its child would wait for it in turn.
 *
 * The stand-in is a child of the program's that was made without a termination signal and never
 * becomes another program, so the kernel shows it to no wait() that does not ask with __WALL or
 * __WCLONE. It waits for the collector and ends with it.
 */
#ifndef GV_PROCESS_STAND_IN_PARENT_H
#define GV_PROCESS_STAND_IN_PARENT_H

#include <stdbool.h>

/* True if orphans below this process become its children. */
bool gv_stand_in_is_needed(void);

/*
 * In a child by clone() that has its own copy of the program's memory and no signal handler: gives
 * all of that memory and every descriptor back, waits for its children, and ends. `stack` is any
 * address in the stack it runs on.
 */
__attribute__((noreturn)) void gv_stand_in_stay(void *stack);

#endif
