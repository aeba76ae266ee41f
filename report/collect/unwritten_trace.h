/*
 * A trace that is not there because its collector died before it could make it, or never started:
 * which session wanted it.
 */
#ifndef GV_COLLECT_UNWRITTEN_TRACE_H
#define GV_COLLECT_UNWRITTEN_TRACE_H

#include "trace/session.h"

#include <stddef.h>

/* The session whose trace `path` was to be, and the folder that its records are in. 0; -ENOENT:
 * there is none; or another -errno. */
int gv_unwritten_trace_find(const char *path, char *directory, size_t size,
                            char session[GV_SESSION_ID_BYTES]);

#endif
