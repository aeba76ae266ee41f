/*
 * gpuverify top: what a running program does now. Shared by its parts; one thread.
 *
 * The trace's journal lets a reader hold up the collector's next commit, and so, if that lasts,
 * fill the spool. So nothing is read for longer than 4 ms at a time, no analysis of the whole trace
 * runs, and of many new rows only some are read: they stand for the others.
 */
#ifndef GV_COMMANDS_TOP_TOP_H
#define GV_COMMANDS_TOP_TOP_H

#include "report/analyse/idle/looks.h"
#include "report/commands/control.h"
#include "trace/session.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Sums are kept by slices of time, for as long as the line of GPU use shows. */
#define GV_TOP_SLICES     64
#define GV_TOP_SLICE_NS   INT64_C(100000000)
#define GV_TOP_SECOND_NS  INT64_C(1000000000)
#define GV_TOP_WINDOW_NS  (2 * GV_TOP_SECOND_NS)
#define GV_TOP_ITEMS      256
#define GV_TOP_DEVICES    16
#define GV_TOP_THREADS    64
#define GV_TOP_FLIGHTS    64
#define GV_TOP_EVENTS     64
#define GV_TOP_LOOKS      2048
#define GV_TOP_PAIRS      256
#define GV_TOP_TEXT_BYTES 192
/* A call, and a time without GPU work, that are worth a line. */
#define GV_TOP_CALL_NS INT64_C(1000000)
#define GV_TOP_IDLE_NS INT64_C(10000000)

/* ---- sums over the last seconds ---- */

struct gv_top_series {
    int64_t newest; /* slice; later ones are empty */
    double values[GV_TOP_SLICES];
};

void gv_top_series_add(struct gv_top_series *series, int64_t at_ns, double value);
/* The same for an interval, each part of which belongs to its slice. */
void gv_top_series_add_time(struct gv_top_series *series, int64_t start_ns, int64_t end_ns,
                            double weight);
/* Of whole slices that end at until_ns or before. */
double gv_top_series_sum(const struct gv_top_series *series, int64_t until_ns, int64_t span_ns);

/* Things with a name: kernels, lines, and which line asks for which work. Beyond GV_TOP_ITEMS the
 * least used one is forgotten. */
struct gv_top_item {
    uint64_t key;
    uint64_t work; /* of all but lines: what its calls launch, see read.sql */
    uint64_t line; /* of a line's work: key of the line */
    char text[GV_TOP_TEXT_BYTES];
    struct gv_top_series gpu_ns, count;
    double shown_ns, shown_count; /* as gv_top_items_sum() found */
};

struct gv_top_items {
    struct gv_top_item *list, *order[GV_TOP_ITEMS]; /* as gv_top_items_sort() sorted them */
    size_t count;
};

/* The item, or NULL: it is new; gv_top_item_add() makes it. */
struct gv_top_item *gv_top_item_find(struct gv_top_items *items, uint64_t key);
struct gv_top_item *gv_top_item_add(struct gv_top_items *items, uint64_t key, const char *text);
/* What they did in the time. */
void gv_top_items_sum(struct gv_top_items *items, int64_t until_ns, int64_t span_ns);
/* Puts those that did anything into `order`, most first. Returns how many. */
size_t gv_top_items_sort(struct gv_top_items *items);
/* Divides the shown time of kernels among lines, as their sampled calls are. */
void gv_top_lines_estimate(const struct gv_top_items *kernels, const struct gv_top_items *works,
                           struct gv_top_items *lines);

/* ---- what is known ---- */

struct gv_top_device {
    char uuid[64], name[64];
    struct gv_top_series busy_ns;
    bool seen;                                                                  /* operations */
    int64_t busy_until_ns;                                                      /* of these */
    bool sampled;                                                               /* NVML */
    int64_t at_ns, gpu_percent, used_bytes, power_mw, clock_mhz, temperature_c; /* -1: unknown */
};

/* What a thread was last seen to do between its calls. */
struct gv_top_thread {
    int64_t id; /* as in gv_idle_look */
    uint32_t tid;
    char name[32];
    int64_t since_ns, at_ns;
    int64_t called_ns; /* end of its newest call */
    char text[GV_TOP_TEXT_BYTES];
};

/* A call that has not returned. */
struct gv_top_flight {
    uint32_t pid, tid;
    int64_t start_ns;
    char name[72], thread[20];
    bool waits; /* the program asked to wait */
};

/* Slow calls, or idle times, that are alike. */
struct gv_top_event {
    bool is_idle;
    int64_t count, last_ns, longest_ns;
    char what[GV_TOP_TEXT_BYTES], where[GV_TOP_TEXT_BYTES];
};

/* Up to which row a table has been read. */
struct gv_top_cursor {
    int64_t id;
    double share; /* of the new rows that were read, at the last look */
};

/* What a look at a thread said. */
struct gv_top_look {
    int64_t at_ns, thread;
    char text[GV_TOP_TEXT_BYTES];
};

struct gv_top_pair { /* a process's device */
    int64_t process, number;
    size_t device; /* + 1; 0: unused */
};

enum gv_top_statement {
#define GV_SQL(name, help, text) GV_TOP_##name,
#include "report/commands_top_read.inc"
#undef GV_SQL
    GV_TOP_STATEMENTS
};

struct gv_top {
    /* command.c */
    struct gv_control_target target;
    char path[PATH_MAX];
    struct stat identity;
    struct gv_session_file *session; /* NULL: it is over */
    int64_t interval_ns, window_ns;
    size_t rows;           /* of one table, at one look */
    bool ended, is_behind; /* not all was read */

    /* read.c */
    sqlite3 *trace;
    sqlite3_stmt *statements[GV_TOP_STATEMENTS];
    struct gv_idle_looks *idle_looks;
    int64_t began_ns; /* the read transaction; 0: none */
    bool is_late;     /* it was interrupted because it took too long */
    int64_t facts_ns; /* when what seldom changes was last read */
    struct gv_top_cursor calls, ops, stacks, looked, samples;
    char program[128];
    int64_t pid, processes, lost;
    bool gpu_seen, complete;
    char gpu_why[256];
    char unseen[32]; /* why the GPU side is not always seen now; empty: it is */
    int64_t gpu_until_ns, call_ns, look_ns; /* what the trace has: the newest of each */
    int64_t moved_ns;                       /* when it last had new calls */
    int64_t now_ns; /* since the session's start; of a trace that ended, its end */
    struct gv_top_series call_count, launch_count, copy_count, copy_bytes;
    struct gv_top_items kernels, lines, works; /* `works`: of lines */
    struct gv_top_device devices[GV_TOP_DEVICES];
    size_t device_count;
    struct gv_top_pair pairs[GV_TOP_PAIRS];
    struct gv_top_thread threads[GV_TOP_THREADS];
    size_t thread_count;
    struct gv_top_look *recent; /* a ring of GV_TOP_LOOKS */
    size_t recent_next;
    struct gv_top_event events[GV_TOP_EVENTS]; /* newest first */
    size_t event_count;

    /* flights.c */
    struct gv_top_flight flights[GV_TOP_FLIGHTS];
    size_t flight_count;
    bool any_lives;
};

/* read.c: prepares to read the trace at top->path. 0 or -errno. Close it in
 * any case. */
int gv_top_open(struct gv_top *top);
void gv_top_close(struct gv_top *top);
/* Reads what is new. 0; -EINTR: there is more, which the next look reads; -EBUSY: the collector
 * writes; or -errno. */
int gv_top_read(struct gv_top *top);

/* flights.c: reads which calls the session's processes are in, from their spools. */
void gv_top_flights_read(struct gv_top *top);

/* draw.c: the picture, for so many rows (0: all) and columns. With colours: as stdout has them. */
void gv_top_draw(struct gv_top *top, FILE *out, unsigned int rows, unsigned int columns);
/* One line, for a file. */
void gv_top_draw_line(struct gv_top *top, FILE *out);

#endif
