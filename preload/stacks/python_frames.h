/*
 * The Python frames of the calling thread, innermost first, without the GIL and without running any
 * Python code. All that belongs to the interpreter is read through the kernel: what is not as it
 * should be is noticed, and never faults.
 */
#ifndef GV_STACKS_PYTHON_FRAMES_H
#define GV_STACKS_PYTHON_FRAMES_H

#include "preload/stacks/python_runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_PYTHON_FRAMES_MOST 48u
#define GV_PYTHON_TEXT_BYTES  512u
#define GV_PYTHON_AHEAD       4u

struct gv_python_frame {
    uintptr_t code;
    uint32_t instruction; /* in bytes from the code's start */
};

/*
 * `*count` is 0 outside Python. False: a frame does not look as it should, and no frame of this
 * interpreter is to be believed.
 *
 * Unless the interpreter is trusted, it is tested first: are the frames of this thread what
 * Python's frames are, from the innermost to the outermost? Their code is code, the instruction
 * lies in it, names are texts, and there is a line. Thirty microseconds for ten frames.
 */
bool gv_python_frames(const struct gv_python *python,
                      struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST], unsigned *count);

struct gv_python_place {
    int32_t line;   /* 0: unknown */
    bool is_hidden; /* the interpreter's own code, of which Python shows no frame either */
    size_t file_bytes;
    size_t function_bytes;
    char file[2 * GV_PYTHON_TEXT_BYTES]; /* UTF-8, the end of a longer one; room for both */
    char function[GV_PYTHON_TEXT_BYTES];
};

/* What a frame is called. False: it does not look like one. */
bool gv_python_place(const struct gv_python *python, const struct gv_python_frame *frame,
                     struct gv_python_place *place);

/* Reads what gv_python_place() will read of the next GV_PYTHON_AHEAD frames, in two system calls.
 */
void gv_python_places_ahead(const struct gv_python *python, const struct gv_python_frame *frames,
                            unsigned count);

#endif
