/*
 * A stack of a trace in one line of words, innermost frame first:
 * "train.py:31 step <- train.py:88 main <- libtorch_cuda.so gpu_kernel_impl".
 */
#ifndef GV_ANALYSE_NAMES_STACK_TEXT_H
#define GV_ANALYSE_NAMES_STACK_TEXT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a frame's file belongs to an installed package or to Python itself. */
#define GV_STACK_TEXT_PACKAGE_SQL(file)                                                            \
    "coalesce(" file " LIKE '%/site-packages/%' OR " file " LIKE '%/dist-packages/%' OR " file     \
    " GLOB '*/lib/python3.*/*' OR " file " LIKE '<frozen %', 0)"

/* Whether a frame is CUDA's own (report/analyse/names/runtime_frames.h), or the C library's, whose
 * start-up code is below every main(). */
#define GV_STACK_TEXT_SYSTEM_SQL(kind, library)                                                    \
    "(" kind " = 'runtime' OR coalesce(" library " GLOB '*/libc.so.6' OR " library                 \
    " GLOB '*/libc-2.*.so' OR " library " GLOB '*/libpthread[-.]*' OR " library                    \
    " GLOB '*/ld-linux*', 0))"

/* At most `frames` frames, those of the program's own lines: Python's, or else what has a source
 * line and is not the C library's, or else what has a name. CUDA's own are left out. They end at
 * main(). A single one is the line that can be changed: of a Python program the innermost that is
 * in no package, if there is one. Empty where nothing is known. 0 or -errno. Not escaped. */
int gv_stack_text(sqlite3 *trace, int64_t stack, int frames, char *out, size_t size);

/* Gives a connection's own queries gv_short_function(), which does to a function's name what
 * gv_stack_text() does. 0 or -errno. */
int gv_stack_text_install(sqlite3 *trace);

#endif
