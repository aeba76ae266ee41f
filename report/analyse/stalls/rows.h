/*
 * The stalls of an open trace for the commands: one row of the view `stalls`, with the names that
 * it refers to.
 *
 * Texts belong to the row and come from the trace: escape them for printing.
 */
#ifndef GV_ANALYSE_STALLS_ROWS_H
#define GV_ANALYSE_STALLS_ROWS_H

#include "report/store/time_sum.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unknown values are 0, or NULL for a text. */
struct gv_stall_row {
    int64_t id;
    int64_t call;
    int64_t start_ns;
    int64_t duration_ns;
    int64_t wait_ns;
    int64_t work_ns;
    int64_t jit_ns;
    int64_t waited_for;
    int64_t blocked_by;
    int64_t drained_count;
    int64_t drained_ns;
    int64_t process;
    int64_t thread;
    int64_t stack;
    int64_t waited_end_ns;  /* of the operation waited for */
    int64_t blocked_thread; /* of the call that blocked it */
    int64_t blocked_stack;
    int64_t blocked_stall;
    int64_t other_pid;     /* other-process: that process */
    int64_t host_function; /* that most of the wait was for */
    int64_t host_ns;       /* how long it ran */
    int64_t host_end_ns;
    int64_t host_stack; /* of the call that launched it */
    bool expected;
    bool unsure;         /* it may have compiled instead of waited */
    bool stack_of_other; /* `stack` is that of an earlier call of the same site */
    char *cause;
    char *confidence;
    char *advice;
    char *name;         /* of the call */
    char *kernel;       /* that the call launches */
    char *waited_name;  /* of the operation */
    char *blocked_name; /* of the call */
    char *other_name;   /* of the process */
    char *other_did;    /* call, start, end, use */
    char *host_name;    /* of the host function; NULL also if only that is unknown */
    char *profiler;     /* that had the GPU side, or CUPTI's callbacks; "another profiler" */
};

struct gv_stall_rows {
    struct gv_stall_row *rows;
    size_t count;
    size_t room;
};

struct gv_stall_filter {
    const char *cause;  /* NULL: all */
    int64_t least_ns;   /* time lost */
    bool expected;      /* expected ones too */
    int64_t id;         /* 0: all */
    int64_t blocked_by; /* 0: all */
    int64_t limit;      /* 0: all */
    bool people;        /* shorten kernel names */
};

/* The time lost: waiting and compiling. */
static inline int64_t gv_stall_lost_ns(const struct gv_stall_row *row)
{
    return gv_time_sum(row->wait_ns, row->jit_ns);
}

/* Sorted by the time lost, longest first. 0 or -errno. Free *rows in any case. */
int gv_stall_rows_read(sqlite3 *trace, const struct gv_stall_filter *filter,
                       struct gv_stall_rows *rows);
/* Counts them without the limit. 0 or -errno. */
int gv_stall_rows_count(sqlite3 *trace, const struct gv_stall_filter *filter, int64_t *count);
void gv_stall_rows_free(struct gv_stall_rows *rows);

#endif
