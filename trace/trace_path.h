/*
 * Where a session's trace goes, and where its shared memory files may lie: the same answer in the
 * program, which makes them, and in the commands, which look for them.
 *
 * libc only, allocates nothing, prints nothing: used inside the program's process too. Reentrant.
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

/* What GPUVERIFY_TRACE stands for in this process: an absolute path. 0; -ENOENT: the pattern is
 * relative and the directory unknown; -ENAMETOOLONG. `path` is whole or empty. */
int gv_trace_path_expand(char *path, size_t size, const char *pattern,
                         const struct gv_trace_owner *owner);

/* A relative GPUVERIFY_TRACE (`is_pattern`: percent signs of the directory are doubled) or
 * GPUVERIFY_SPOOL_DIR, as seen from `directory`. 0; -ENOENT: that is no directory; -ENAMETOOLONG.
 */
int gv_trace_path_absolute(char *path, size_t size, const char *directory, const char *relative,
                           bool is_pattern);

/* The first choice for a spool directory: GPUVERIFY_SPOOL_DIR, a relative one as seen from
 * `directory`, or /dev/shm/gpuverify-<uid>. 0; -ENOENT: the directory is unknown; -ENAMETOOLONG. */
int gv_trace_path_shared(char *path, size_t size, const struct gv_settings *settings,
                         const char *directory);

/* The second: .gpuverify-<uid> beside the trace, whose path is absolute. */
int gv_trace_path_beside(char *path, size_t size, const char *trace);

/* A directory is not needed any more: removed if it is one of the second kind, and empty. Who has
 * just made sure that it is there, to make a file in it, has to be ready to do so again. */
void gv_trace_path_leave(const char *directory);

#endif
