/*
 * The paths of a session's trace and shared memory files: the same in the program, which makes
 * them, and in the commands, which look for them.
 *
 * Needs only libc, allocates nothing, prints nothing, so the program's process can use it.
 * Reentrant.
 */
#ifndef GV_TRACE_TRACE_PATH_H
#define GV_TRACE_TRACE_PATH_H

#include "trace/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The process whose trace it is. */
struct gv_trace_owner {
    uint32_t pid;          /* %p */
    const char *program;   /* %n */
    const char *directory; /* its working directory, absolute; NULL: unknown */
};

/* Like snprintf(). 0, or -ENAMETOOLONG: it does not fit. */
int gv_trace_path_format(char *path, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Expands GPUVERIFY_TRACE for this process into an absolute path. 0; -ENOENT: the pattern is
 * relative and the directory unknown; -ENAMETOOLONG. `path` is whole or empty. */
int gv_trace_path_expand(char *path, size_t size, const char *pattern,
                         const struct gv_trace_owner *owner);

/* Makes a relative GPUVERIFY_TRACE (`is_pattern`: doubles percent signs of the directory) or
 * GPUVERIFY_SPOOL_DIR absolute, from `directory`. 0; -ENOENT: not a directory; -ENAMETOOLONG. */
int gv_trace_path_absolute(char *path, size_t size, const char *directory, const char *relative,
                           bool is_pattern);

/* The first choice for a spool directory: GPUVERIFY_SPOOL_DIR, relative to `directory`, or
 * /dev/shm/gpuverify-<uid>. 0; -ENOENT: the directory is unknown; -ENAMETOOLONG. */
int gv_trace_path_shared(char *path, size_t size, const struct gv_settings *settings,
                         const char *directory);

/* The second choice: .gpuverify-<uid> beside the trace, whose path is absolute. */
int gv_trace_path_beside(char *path, size_t size, const char *trace);

/* Removes a directory that is no longer needed, if it is of the second kind and empty. A process
 * that has just made sure that the directory exists must be ready to make it again. */
void gv_trace_path_leave(const char *directory);

#endif
