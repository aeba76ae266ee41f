/*
 * Prints a stack in one line, innermost frame first: "train.py:31 step <- train.py:88 main <-
 * libtorch_cuda.so gpu_kernel_impl".
 */
#ifndef GV_ANALYSE_NAMES_STACK_TEXT_H
#define GV_ANALYSE_NAMES_STACK_TEXT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Prints at most `frames` frames with the program's own lines: Python's, otherwise those with a
 * source line outside of the C library, otherwise those with a name. CUDA's frames are left out.
 * They end at main(). A Python program's innermost line outside of packages is added if it is
 * further out. A single frame is the line that can be changed: in a Python program, that line, if
 * any. Empty if nothing is known. 0 or -errno. Not escaped. */
int gv_stack_text(sqlite3 *trace, int64_t stack, int frames, char *out, size_t size);

/* The line of a stack, in `out`; NULL: it is not known. */
const char *gv_stack_where(sqlite3 *trace, int64_t stack, char *out, size_t size);

/* The same for a single frame of many stacks: preparing the query takes longer than running it. */
int gv_stack_line_prepare(sqlite3 *trace, sqlite3_stmt **line);
int gv_stack_line(sqlite3_stmt *line, int64_t stack, char *out, size_t size);

/* A frame of a stack. Texts may be NULL. */
struct gv_frame_names {
    const char *function, *library, *file;
    int64_t line;
    int64_t address; /* 0: not known */
};

/* "train.py:31 step", "libtorch_cuda.so gpu_kernel_impl", "libcublas.so+0x12f0". Not escaped. */
void gv_frame_text(const struct gv_frame_names *frame, char *out, size_t size);

/* Adds two functions to a connection: gv_short_function(name) shortens a function's name as
 * gv_stack_text() does; gv_line(function, library, file, line), of a row of `place` or of a view
 * that has its columns, is gv_frame_text(), or NULL if nothing is known. 0 or -errno. */
int gv_stack_text_install(sqlite3 *trace);

#endif
