/* The environment of a program under `gpuverify run`. */
#ifndef GV_COMMANDS_RUN_ENVIRONMENT_H
#define GV_COMMANDS_RUN_ENVIRONMENT_H

#include <stddef.h>

/* Finds libgpuverify.so in the build tree, or where it is installed. 0; -ENOENT; or -EBADF: it
 * is at `path`, which LD_PRELOAD cannot contain. */
int gv_run_find_library(char *path, size_t size);

/* Puts the library first in LD_PRELOAD and, if given, the trace's absolute path into
 * GPUVERIFY_TRACE. 0 or -errno. */
int gv_run_set_environment(const char *library, const char *trace);

#endif
