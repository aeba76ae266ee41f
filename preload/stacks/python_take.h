/*
 * The calling thread's Python frames, as numbers of code objects and positions in them.
 *
 * The main thread's are loaded directly, once the layout of the interpreter has proven right: 16
 * stacks were the same through the Linux kernel. Frames of another thread are freed when the main
 * thread ends the interpreter, while that thread is in a call, so they are always read through the
 * kernel, and so are those of builds without the GIL.
 */
#ifndef GV_STACKS_PYTHON_TAKE_H
#define GV_STACKS_PYTHON_TAKE_H

#include "preload/base/thread.h"
#include "preload/stacks/python_frames.h"
#include "trace/mix.h"

#include <stdbool.h>
#include <stdint.h>

_Static_assert(GV_PYTHON_FRAMES_MOST == GV_STACK_POSITIONS, "positions of a stack");

/*
 * This thread's frames, innermost first, at most GV_STACK_POSITIONS: of a deeper stack the
 * innermost GV_PYTHON_FRAMES_INNER and the outermost GV_PYTHON_FRAMES_OUTER. Code objects that are
 * new are written, as records of a group that continues; a `code` of 0 had no room. `*low`,
 * `*high`: the interpreter's object. `*count` is 0 outside of Python.
 *
 * False: there are frames that cannot be read (an unknown version, not as expected, too many
 * threads at once). The caller counts it.
 */
bool gv_python_take(struct gv_thread *thread, struct gv_python_position *position, unsigned *count,
                    uint64_t *low, uint64_t *high);

/* What tells the innermost frame from others: gv_python_top_of() the first position that
 * gv_python_take() would have; 0: there is none. False: it is not known. */
bool gv_python_top(struct gv_thread *thread, uint64_t *top);

static inline uint64_t gv_python_top_of(const struct gv_python_position *innermost)
{
    uint64_t top = gv_mix(gv_mix(0, innermost->code), innermost->instruction);

    return top ? top : 1;
}

/* The positions of frames, whose new code objects are written. False: a frame does not look like
 * one. */
bool gv_python_positions(struct gv_thread *writer, const struct gv_python *python,
                         const struct gv_python_frame *frames, unsigned count,
                         struct gv_python_position *position);

/* Looks for the interpreter, and tests it with this thread's frames: the first stack need not. */
void gv_python_prepare(uint32_t tid);

/* In a forked child: other threads, and what was written, are the parent's. */
void gv_python_start_over(void);

#endif
