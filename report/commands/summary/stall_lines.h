/* The lines of the program that lost the most time. */
#ifndef GV_COMMANDS_SUMMARY_STALL_LINES_H
#define GV_COMMANDS_SUMMARY_STALL_LINES_H

#include "report/analyse/stalls/rows.h"

/* Calls with one name that lost time at one line for one cause. */
struct gv_stall_line {
    char *where; /* empty: not known */
    const struct gv_stall_row *worst;
    const char *kernel; /* the kernel that all of them launched; or NULL */
    int64_t count;
    int64_t lost_ns;
    int64_t behind_count, behind_ns; /* calls that waited for these, and their lost time */
    bool waits_behind;               /* it is one of the calls that another line counts like this */
};

struct gv_stall_lines {
    struct gv_stall_line *lines; /* most time first, unexplained ones last */
    size_t count;
    struct gv_stall_rows rows;
};

/* Only unexpected stalls. 0 or -errno. Free *lines in any case. */
int gv_stall_lines_read(sqlite3 *trace, struct gv_stall_lines *lines);
void gv_stall_lines_free(struct gv_stall_lines *lines);

#endif
