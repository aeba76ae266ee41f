/* The lines of the program at which most time was lost. */
#ifndef GV_COMMANDS_SUMMARY_STALL_LINES_H
#define GV_COMMANDS_SUMMARY_STALL_LINES_H

#include "report/analyse/stalls/rows.h"

/* Calls of one name that lost time at one line for one cause. */
struct gv_stall_line {
    char *where; /* empty: not known */
    const struct gv_stall_row *worst;
    const char *kernel; /* that all of them launched; or else NULL */
    int64_t count;
    int64_t lost_ns;
    int64_t behind_count, behind_ns; /* calls that waited for these, and lost so much themselves */
    bool waits_behind;               /* it is among the calls that another line counts so */
};

struct gv_stall_lines {
    struct gv_stall_line *lines; /* most time first, unexplained ones last */
    size_t count;
    struct gv_stall_rows rows;
};

/* Unexpected ones. 0 or -errno; *lines is to be freed in any case. */
int gv_stall_lines_read(sqlite3 *trace, struct gv_stall_lines *lines);
void gv_stall_lines_free(struct gv_stall_lines *lines);

#endif
