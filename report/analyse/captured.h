/*
 * The periods in which the streams of a process were captured. What a stream got then ran in a
 * graph, or never. If the begin or the end of a capture is unknown, it counts from the beginning,
 * or until the end.
 */
#ifndef GV_ANALYSE_CAPTURED_H
#define GV_ANALYSE_CAPTURED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes temp.capture (stream, start_ns, end_ns) of a process. A stream that waits for an event
 * during a capture counts as joined. Valid until gv_captured_close. One thread; 0 or -errno. */
int gv_captured_open(sqlite3 *trace, int64_t process);
int gv_captured_close(sqlite3 *trace);

/* The times in which any stream was captured: disjoint and sorted. */
struct gv_captured_times {
    struct gv_captured_time {
        int64_t start_ns, end_ns;
    } * list;
    size_t count;
};

/* For the opened process. Free them, also after an error. */
int gv_captured_times_read(struct gv_captured_times *times, sqlite3 *trace);
void gv_captured_times_free(struct gv_captured_times *times);
/* Whether one of them overlaps [start_ns, end_ns]. */
bool gv_captured_times_meet(const struct gv_captured_times *times, int64_t start_ns,
                            int64_t end_ns);

#endif
