/* The list of stalls, in each of its formats. */
#ifndef GV_COMMANDS_STALLS_OUTPUT_H
#define GV_COMMANDS_STALLS_OUTPUT_H

#include "report/analyse/stalls/rows.h"
#include "report/show/rows.h"

/* 0 or -errno. */
int gv_stall_output_print(sqlite3 *trace, const char *path, const struct gv_stall_filter *filter,
                          enum gv_format format);

#endif
