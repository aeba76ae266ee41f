/*
 * A stack of a trace in one line of words, innermost frame first:
 * "train.py:31 step <- train.py:88 main <- libtorch_cuda.so gpu_kernel_impl".
 */
#ifndef GV_REPORT_STACK_TEXT_H
#define GV_REPORT_STACK_TEXT_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* At most `frames` frames, those of the program's own lines first: Python's, or else what has a
 * source line, or else what has a name. Empty where nothing is known. 0 or -errno. Not escaped. */
int gv_stack_text(sqlite3 *trace, int64_t stack, int frames, char *out, size_t size);

#endif
