/*
 * Which frames of stacks are CUDA's own: its libraries, what nvcc links and generates into a
 * program, and the toolkit's headers (report/analyse/names/runtime_frames.def). They are not where
 * a program does something.
 */
#ifndef GV_ANALYSE_NAMES_RUNTIME_FRAMES_H
#define GV_ANALYSE_NAMES_RUNTIME_FRAMES_H

#include "report/store/database.h"

#include <stdbool.h>

/* Each may be NULL: unknown. */
struct gv_runtime_frame {
    const char *function; /* as it is written in C++ */
    const char *library;
    const char *file;
};

bool gv_runtime_frame_is(const struct gv_runtime_frame *frame);

/* Whether a function is CUDA's own by its name alone: NULL is not. */
bool gv_runtime_function_is(const char *function);

/* Whether a source file is one of the toolkit's headers, or made by nvcc. */
bool gv_runtime_file_is(const char *file);

/* Whether `outer`, which called `inner`, is what nvcc makes of a kernel for the host: a function
 * with the kernel's name and line, which launches it. */
bool gv_runtime_kernel_is(const char *outer, const char *inner);

/* Gives these frames of a trace, once they have their names, the kind "runtime". In the caller's
 * transaction. 0 or -errno. */
int gv_runtime_frames_mark(struct gv_database *database);

#endif
