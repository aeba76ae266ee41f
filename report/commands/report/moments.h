/* The options --from and --to of the report. */
#ifndef GV_COMMANDS_REPORT_MOMENTS_H
#define GV_COMMANDS_REPORT_MOMENTS_H

#include "report/analyse/totals/part.h"
#include "report/commands/arguments.h"

#include <sqlite3.h>

/* Sets the part's times. 0; GV_EXIT_...: a message was printed; or -errno. */
int gv_report_moments_read(sqlite3 *trace, const struct gv_arguments *arguments,
                           struct gv_totals_part *part);

#endif
