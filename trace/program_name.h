/*
 * The name of a process: "train" for python3 train.py, otherwise the name of its program.
 *
 * Needs only libc and allocates nothing, so the program's process can use it. Reentrant.
 */
#ifndef GV_TRACE_PROGRAM_NAME_H
#define GV_TRACE_PROGRAM_NAME_H

#include <stddef.h>
#include <stdint.h>

/* Reads /proc/PID/cmdline: NUL after each argument, cut at `size`. Pid 0 is the calling process.
 * Returns its length, 0 if it cannot be read. */
size_t gv_program_read_arguments(uint32_t pid, char *arguments, size_t size);

/* The name according to these arguments. Their last byte becomes NUL. */
void gv_program_name(char *arguments, size_t bytes, char *name, size_t size);

#endif
