/*
 * Finds which lines of the program asked for the GPU's time: fills the tables `gpu_stack` and
 * `gpu_line` from the operations, the calls, and the stacks that some of the calls have.
 * docs/lines.md describes the estimate.
 *
 * Memory does not grow with the number of calls and operations. One thread.
 */
#ifndef GV_ANALYSE_LINES_LINES_H
#define GV_ANALYSE_LINES_LINES_H

#include "report/analyse/totals/part.h"

#include <sqlite3.h>

/* Goes up when the estimate changes; meta row "lines". */
#define GV_LINES_VERSION 1

/* Analyses an open, writable trace whose stacks have names, in a transaction of its own. 0, or
 * -errno with the tables unchanged. */
int gv_lines_keep(sqlite3 *trace);

/* Makes `gpu_lines`, `gpu_line` and `gpu_stack` of a read-only trace usable for this part of it: the
 * trace's own, or temporary ones that hide them. 0 or -errno. */
int gv_lines_ensure(sqlite3 *trace, const struct gv_totals_part *part);

#endif
