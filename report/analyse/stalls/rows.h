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
#define GV_STALL_NUMBER(name) int64_t name;
#define GV_STALL_FLAG(name)   bool name;
#define GV_STALL_TEXT(name)   char *name;
#include "report/analyse/stalls/rows.def"
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
