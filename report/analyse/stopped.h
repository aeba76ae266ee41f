/*
 * When recording was stopped (docs/control.md). What is recorded then, such as loads and
 * allocations, shows what later calls need; it counts for nothing else.
 */
#ifndef GV_ANALYSE_STOPPED_H
#define GV_ANALYSE_STOPPED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_stopped {
    struct gv_stopped_time {
        int64_t process, start_ns, end_ns; /* INT64_MAX: for ever */
    } * times;                             /* by process, then by time */
    size_t count, room;
};

/* 0 or -errno; free list->times in any case. */
int gv_stopped_read(sqlite3 *trace, struct gv_stopped *list);

/* The part of [start_ns, end_ns) of the process. */
int64_t gv_stopped_ns(const struct gv_stopped *list, int64_t process, int64_t start_ns,
                      int64_t end_ns);

static inline bool gv_stopped_has(const struct gv_stopped *list, int64_t process, int64_t at_ns)
{
    return list->count > 0 && at_ns < INT64_MAX &&
           gv_stopped_ns(list, process, at_ns, at_ns + 1) > 0;
}

/* The time of the processes in a part of the trace; all 0 if recording was never stopped. */
struct gv_recorded {
    int64_t all_ns, recorded_ns;
    int64_t periods; /* in which it was recorded */
};

/* process: 0: all. last_ns: the end of processes that still run. 0 or -errno. */
int gv_recorded_read(sqlite3 *trace, int64_t process, int64_t from_ns, int64_t to_ns,
                     int64_t last_ns, struct gv_recorded *recorded);

#endif
