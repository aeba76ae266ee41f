/*
 * When the streams of a process were being captured: what they were given then ran in a graph, or
 * never.
 */
#ifndef GV_REPORT_CAPTURED_H
#define GV_REPORT_CAPTURED_H

#include <sqlite3.h>
#include <stdint.h>

/* Makes temp.capture (stream, start_ns, end_ns) of a process; a stream that waits for an event
 * during a capture is taken to have joined it. Until gv_captured_close. One thread; 0 or -errno. */
int gv_captured_open(sqlite3 *trace, int64_t process);
int gv_captured_close(sqlite3 *trace);

#endif
