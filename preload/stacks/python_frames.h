/*
 * The Python frames of a thread, innermost first, without the GIL and without running Python code:
 * through the Linux kernel, so that anything unexpected is noticed and never faults, or directly
 * (python_memory.h).
 */
#ifndef GV_STACKS_PYTHON_FRAMES_H
#define GV_STACKS_PYTHON_FRAMES_H

#include "preload/stacks/python_runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a deep stack, the innermost frames and the outermost: the program's own line is far out where
 * a package calls deeply, as a compiler or an import does. */
#define GV_PYTHON_FRAMES_INNER 32u
#define GV_PYTHON_FRAMES_OUTER 16u
#define GV_PYTHON_FRAMES_MOST  (GV_PYTHON_FRAMES_INNER + GV_PYTHON_FRAMES_OUTER)
/* With more frames, the outermost are not looked for. */
#define GV_PYTHON_FRAMES_WALKED 1000u

struct gv_python_frame {
    uintptr_t at; /* the frame itself */
    uintptr_t code;
    uint32_t instruction; /* in bytes from the code's start */
    uint32_t left_out;    /* frames between this one and the next */
};

/*
 * The frames of the calling thread, with the state at `state`, at most `most`: of a deeper stack,
 * GV_PYTHON_FRAMES_OUTER of them are the outermost if `most` is GV_PYTHON_FRAMES_MOST, and all are
 * the innermost if it is less. `*count` is 0 outside of Python. False: a frame does not look as
 * expected, so no frame of this interpreter can be trusted.
 *
 * An interpreter that is not trusted yet is tested first: do the frames of this thread look like
 * Python frames, from the innermost to the outermost? Their code is a code object, the instruction
 * is in it, names are strings, and it has a line table. Takes 30 microseconds for ten frames.
 */
bool gv_python_frames(const struct gv_python *python, uintptr_t state,
                      struct gv_python_frame *frames, unsigned most, unsigned *count);

/*
 * The same of the thread with the state at `state`, which runs meanwhile: what three walks in
 * a row have in common, from the outermost frame on. The rest changes too fast. `frames` has room
 * for GV_PYTHON_FRAMES_MOST.
 * False: nothing can be said of it now. What its code objects are is not looked at.
 */
bool gv_python_frames_of_other(const struct gv_python *python, uintptr_t state,
                               struct gv_python_frame *frames, unsigned *count);

/* The self-test, with what these frames run. */
bool gv_python_frames_look_right(const struct gv_python *python,
                                 const struct gv_python_frame *frames, unsigned count);

/* Reads what gv_python_code_number() of these frames will need of known code, in one system call.
 */
void gv_python_frames_bring(const struct gv_python *python, const struct gv_python_frame *frames,
                            unsigned count);

/* Whether the calling thread, with this state, surely runs no Python: most threads of many
 * programs, such as those of a backward pass. Without the kernel's copy, which took 6 us. */
bool gv_python_runs_nothing(const struct gv_python *python, uintptr_t state);

#endif
