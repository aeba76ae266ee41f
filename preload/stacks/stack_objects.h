/*
 * The objects of the process (struct gv_spool_object), with which the collector unwinds copied
 * stacks and names their frames.
 *
 * The list is made when the process attaches, and brought up to date by the thread that unloads
 * one. dlopen() cannot be wrapped, so a new object is noticed at the next stack: the loader's list
 * has gone on where it ended (one read through the Linux kernel). Adding it takes no lock.
 */
#ifndef GV_STACKS_STACK_OBJECTS_H
#define GV_STACKS_STACK_OBJECTS_H

#include <stdint.h>

/* Begins the list of this process. Once its spool is there; takes the loader's lock. */
void gv_stack_objects_start(void);

/* Adds what was loaded since the last time. Any thread; without a lock. */
void gv_stack_objects_look(void);

/* Around a dlclose(). The second takes the loader's lock. */
void gv_stack_objects_begin_close(void);
void gv_stack_objects_end_close(void);

/* Of the list of objects as it is now. */
uint32_t gv_stack_objects_generation(void);

#endif
