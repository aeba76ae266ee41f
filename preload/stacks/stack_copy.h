/*
 * Copies native stacks into the ring of the spool (struct gv_stack_copy), for the collector to
 * unwind: the registers and the used part of the stack. Nothing here follows frames.
 *
 * Any thread. Lock-free; a copy costs 1 to 3 us. Without room there is no copy, and it is counted.
 */
#ifndef GV_STACKS_STACK_COPY_H
#define GV_STACKS_STACK_COPY_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

struct gv_stack_taken {
    struct gv_thread *thread; /* that makes it; NULL: one of ours */
    struct gv_stack_copy *copy;
    uint64_t serial;
    uint32_t chunk; /* plus one */
    uint32_t chunks;
};

/* Gives the ring its first storage. Once the process's spool is there. */
void gv_stack_copy_start(void);

/* Where this thread's stack lies: asked once. */
void gv_stack_copy_find_bounds(struct gv_thread *thread);

/* Who may take which part of the ring. Calls that were chosen at random stand for others, so the
 * rest leaves some of it to them. */
enum gv_stack_room {
    GV_STACK_ROOM_REST,
    GV_STACK_ROOM_CHOSEN,
    GV_STACK_ROOM_WAITS, /* up to 0.1 s, unless that was in vain the last time */
};

/* Copies the calling thread's stack, from its own caller on. The copy is not finished: its
 * positions can be filled in. If a signal handler leaves the thread's work by a jump before the
 * copy was handed over, the thread's next copy frees this one. False: there is no room. */
bool gv_stack_copy_take(struct gv_thread *thread, enum gv_stack_room room,
                        struct gv_stack_taken *taken);

/* Copies that of a blocked thread, of which the position and the stack pointer are known, through
 * the Linux kernel. By one thread of ours, into chunks that no call can take. */
bool gv_stack_copy_take_other(uintptr_t pc, uintptr_t sp, struct gv_stack_taken *taken);

/* The copy is complete: a record can refer to it. Then one does, or none will. */
void gv_stack_copy_finish(struct gv_stack_taken *taken);
void gv_stack_copy_hand_over(struct gv_stack_taken *taken);
void gv_stack_copy_drop(struct gv_stack_taken *taken);

#endif
