/*
 * Idle time by reason and line of the program, from the view `idle` of an open trace, for the
 * verdict and the commands. Texts come from the trace: escape them for printing.
 */
#ifndef GV_ANALYSE_IDLE_SUMS_H
#define GV_ANALYSE_IDLE_SUMS_H

#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_idle_line {
    char *reason;
    /* of the row with the most time; empty: none, or unknown */
    char *detail;
    char *where;
    int64_t total_ns; /* of all devices together */
    /* The same, but devices that were idle at the same time count once: what the run would be
     * shorter without it, at most. */
    int64_t saves_ns;
    int64_t inside_ns; /* the part of total_ns between the first call and the last one's end */
    int64_t gaps;
    int64_t samples;
    int64_t first;   /* the first row; id in idle */
    int64_t longest; /* the row with the most time; id in idle */
    int64_t longest_ns;
    bool inferred; /* a row is of a device that was not seen: it was at least this time */
};

struct gv_idle_sums {
    struct gv_idle_line *lines; /* most saving first, unknown ones last */
    size_t count;
    int64_t rows;
    int64_t samples;   /* looks at threads in the trace; 0: none was taken */
    int64_t total_ns;  /* of all devices together */
    int64_t saves_ns;  /* devices idle at the same time count once */
    int64_t inside_ns; /* as in a line */
    int64_t run_ns;    /* from the start of the processes to their end, in this part of the trace */
    bool inferred;     /* a row is */
};

/* Of a part of the trace. 0 or -errno; free *sums in any case. */
int gv_idle_sums_read(sqlite3 *trace, const struct gv_totals_part *part, struct gv_idle_sums *sums);
void gv_idle_sums_free(struct gv_idle_sums *sums);

/* The line of such rows: by reason and place; without a place, by reason and detail. NULL: none. */
struct gv_idle_line *gv_idle_sums_find(const struct gv_idle_sums *sums, const char *reason,
                                       const char *detail, const char *where);

/* Why the trace cannot tell why devices were idle, as a clause; NULL: it can. */
const char *gv_idle_sums_lack(const struct gv_idle_sums *sums);

#endif
