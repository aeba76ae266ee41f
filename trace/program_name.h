/*
 * What to call a process: "train" for python3 train.py, otherwise the name of its program.
 *
 * libc only, allocates nothing: used inside the program's process too. Reentrant.
 */
#ifndef GV_TRACE_PROGRAM_NAME_H
#define GV_TRACE_PROGRAM_NAME_H

#include <stddef.h>
#include <stdint.h>

/* /proc/PID/cmdline, NUL after each argument, cut at `size`; pid 0 is the calling process. Returns
 * how much there is, 0 if it cannot be read. */
size_t gv_program_read_arguments(uint32_t pid, char *arguments, size_t size);

/* The name by these arguments, as they were read; their last byte becomes NUL. */
void gv_program_name(char *arguments, size_t bytes, char *name, size_t size);

#endif
