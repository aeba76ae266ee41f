/* The environment of a program under `gpuverify run`, and where the program is. */
#ifndef GV_COMMANDS_RUN_ENVIRONMENT_H
#define GV_COMMANDS_RUN_ENVIRONMENT_H

#include "report/commands/arguments.h"
#include "report/commands/summary/no_trace.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The path of this command. 0; -ENOSYS: /proc is missing. */
int gv_run_self(char *path, size_t size);

/* Finds libgpuverify.so in the build tree, or where it is installed, as a path that LD_PRELOAD can
 * contain. 0, or -errno after a message. */
int gv_run_find_library(char *path, size_t size);

/* Puts the library first in LD_PRELOAD and, if given, the trace's absolute path into
 * GPUVERIFY_TRACE. 0 or -errno. */
int gv_run_set_environment(const char *library, const char *trace);

/* Puts the options that are named as a setting into its variable. 0 or -errno. */
int gv_run_set_options(const struct gv_arguments *arguments);

/* The rank that a launcher gave this process, and the number of ranks, if both are numbers. false:
 * it is none of several. */
bool gv_run_rank(int64_t *rank, int64_t *ranks);

/* What the library tells of a program that leaves no trace (trace/run_note.h). Makes the note's
 * file and names it in the environment, before the program starts. Its descriptor, or -errno: then
 * nothing will be known. */
int gv_run_note_open(void);
/* Why a program left no trace that ended with this status of waitpid. Closes the file. */
enum gv_no_trace gv_run_note_read(int fd, int status);

#endif
