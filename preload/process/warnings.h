/*
 * Warnings on stderr, each once per session by the process that notices first: a bit in the session
 * file says which were printed. Without a session they are repeated.
 */
#ifndef GV_PROCESS_WARNINGS_H
#define GV_PROCESS_WARNINGS_H

#include "preload/base/own_process.h"

/* While attaching, successful or not: values that are not allowed, and unknown variables. */
void gv_warn_of_settings(const struct gv_process *process);

/* While attaching: the trace's folder is not writable, so the records stay in shared memory. */
void gv_warn_of_folder(const struct gv_process *process);

/* While attaching: the collector did not start, -errno. */
void gv_warn_of_no_collector(const struct gv_process *process, int error);

/* While attaching: nothing is recorded, -errno. `session_path` may be the folder that was refused.
 */
void gv_warn_of_refusal(const struct gv_process *process, int error);

/* At the end of a process: the collector could not write the trace. */
void gv_warn_of_trace(const struct gv_process *process);

/* At the end of a process that waited in vain: its collector ended first. Not printed if
 * somebody else will store the records: `gpuverify run`, or a user who wanted no collector. */
void gv_warn_of_collector(const struct gv_process *process);

#endif
