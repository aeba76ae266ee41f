/*
 * When the streams of a process were being captured: what they were given then ran in a graph, or
 * never. What a capture began or ended with may not be known: then it is taken to have gone on from
 * the beginning, or until the end.
 */
#ifndef GV_ANALYSE_CAPTURED_H
#define GV_ANALYSE_CAPTURED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes temp.capture (stream, start_ns, end_ns) of a process; a stream that waits for an event
 * during a capture is taken to have joined it. Until gv_captured_close. One thread; 0 or -errno. */
int gv_captured_open(sqlite3 *trace, int64_t process);
int gv_captured_close(sqlite3 *trace);

/* The times at which any stream was being captured: apart, and in their order. */
struct gv_captured_times {
    struct gv_captured_time {
        int64_t start_ns, end_ns;
    } * list;
    size_t count;
};

/* Of the process that is open. To be freed, also after an error. */
int gv_captured_times_read(struct gv_captured_times *times, sqlite3 *trace);
void gv_captured_times_free(struct gv_captured_times *times);
/* Whether one of them meets [start_ns, end_ns]. */
bool gv_captured_times_meet(const struct gv_captured_times *times, int64_t start_ns,
                            int64_t end_ns);

#endif
