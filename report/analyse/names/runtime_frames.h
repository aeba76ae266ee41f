/*
 * Finds frames of stacks that belong to CUDA: its libraries, what nvcc links and generates into a
 * program, and the toolkit's headers; and those of the C++ and Rust libraries' code
 * (report/analyse/names/runtime_frames.def). They are never the program's location.
 */
#ifndef GV_ANALYSE_NAMES_RUNTIME_FRAMES_H
#define GV_ANALYSE_NAMES_RUNTIME_FRAMES_H

#include "report/store/database.h"

#include <stdbool.h>

/* Each may be NULL: unknown. */
struct gv_runtime_frame {
    const char *function; /* as written in C++ */
    const char *library;
    const char *file;
};

bool gv_runtime_frame_is(const struct gv_runtime_frame *frame);

/* Whether `outer`, which called `inner`, is what nvcc generates for a kernel on the host: a
 * function with the kernel's name and line, which launches it. */
bool gv_runtime_kernel_is(const char *outer, const char *inner);

/* Gives such frames of a trace the kind "runtime", once they have names. In the caller's
 * transaction. 0 or -errno. */
int gv_runtime_frames_mark(struct gv_database *database);

#endif
