/*
 * What a session's user is told on stderr about it, once, by whichever of its processes sees it
 * first: a bit in the session file says what has been told. Without a session it is told again.
 */
#ifndef GV_PROCESS_WARNINGS_H
#define GV_PROCESS_WARNINGS_H

#include "preload/base/own_process.h"

/* While attaching, whether it has succeeded or not: settings that are not allowed, and variables
 * that look like settings and are none. */
void gv_warn_of_settings(const struct gv_process *process);

/* While attaching: the folder of the trace cannot be written, so that the records stay where they
 * are. */
void gv_warn_of_folder(const struct gv_process *process);

/* While attaching: the collector did not start, -errno. */
void gv_warn_of_no_collector(const struct gv_process *process, int error);

/* At the end of a process: the collector could not write the trace. */
void gv_warn_of_trace(const struct gv_process *process);

/* At the end of a process that waited in vain: its collector has ended before it. Not said where
 * somebody else is going to bring the records in: `gpuverify run`, or who wanted no collector. */
void gv_warn_of_collector(const struct gv_process *process);

#endif
