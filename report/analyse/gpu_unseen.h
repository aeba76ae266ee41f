/*
 * What was launched, and never seen on the GPU. CUPTI returns operations some time after they end,
 * a whole buffer at once. So the last ones are missing if the program was killed, or still runs.
 * While another profiler has CUPTI, no operations come, or they come without their calls. While
 * recording is stopped, none come, of any process.
 */
#ifndef GV_ANALYSE_GPU_UNSEEN_H
#define GV_ANALYSE_GPU_UNSEEN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A time in which operations of a process are missing, or their calls. */
struct gv_gpu_unseen {
    int64_t process;     /* id in processes */
    int64_t launched_ns; /* when the first of them was queued; never after known_ns */
    int64_t known_ns;    /* the earliest possible start of a missing operation; until_ns: none is */
    int64_t until_ns;    /* from then on all are seen, with their calls; INT64_MAX: never again */
    int64_t seen_ns;     /* what is launched from then on is seen; INT64_MAX: nothing is */
    bool stopped;        /* until seen_ns, the calls are missing too */
};

struct gv_gpu_unseen_list {
    struct gv_gpu_unseen *times; /* by process, then by time */
    size_t count, room;
};

/* Lists these times, also of processes that still run. 0 or -errno; free list->times in any
 * case. */
int gv_gpu_unseen_read(sqlite3 *trace, struct gv_gpu_unseen_list *list);

/* Whether one of them overlaps [start_ns, end_ns] of the process. */
bool gv_gpu_unseen_overlaps(const struct gv_gpu_unseen_list *list, int64_t process,
                            int64_t start_ns, int64_t end_ns);

/* Makes temp.capture, the captures of a process or of all (0), for the fragment is_captured; until
 * the next one, or the closing. 0 or -errno. */
int gv_gpu_captured_open(sqlite3 *trace, int64_t process);
int gv_gpu_captured_close(sqlite3 *trace);

/* What is known of the GPU side of an ended process. */
struct gv_gpu_seen {
    int64_t process;
    int64_t started_ns, flushed_ns; /* INT64_MIN: unknown */
    bool finished;                  /* the process ended normally */
    bool whole_graphs;
};

/*
 * Stores as losses how many launches of an ended process have no operation: every successful launch
 * is found on the GPU, or counted here. In a process that ended normally, everything launched
 * before its last flush must be there; what is not is `missing`, whatever the reason. What its
 * threads and exit handlers started later was still in CUPTI (`last flush`). CUPTI returns a buffer
 * only when every record in it is complete, so one running kernel delays all others in its buffer.
 * So in a killed process everything that is not there counts as `last flush`, however old it is.
 *
 * It never counts too much: launches before the GPU side was on, while any stream was captured, or
 * in one of the times of gv_gpu_unseen_read() that another profiler or a stop began, are not
 * expected. Neither are graph launches if each node is recorded (a graph may have none that leaves
 * an operation); copies count only in the last flush. 0 or -errno.
 */
int gv_gpu_unseen_count(sqlite3 *trace, const struct gv_gpu_seen *seen);

#endif
