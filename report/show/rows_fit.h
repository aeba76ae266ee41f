/*
 * How a table fits into a terminal: the widest columns of text are cut in the middle, and when that
 * is not enough, the last columns are left away. Part of report/show/rows_cells.c.
 */
#ifndef GV_SHOW_ROWS_FIT_H
#define GV_SHOW_ROWS_FIT_H

#include "report/show/rows.h"

#include <stdbool.h>
#include <stddef.h>

/* Columns between two of a table. */
#define GV_CELL_GAP 2u
/* What is put where text was cut out. */
#define GV_CELL_CUT       "..."
#define GV_CELL_CUT_WIDTH 3u

struct gv_row_fit {
    unsigned int width;
    unsigned int head; /* of a text that is too long, so much of its start is kept; the rest is of
                          its end. 0: nothing of its start */
};

/* Numbers are never cut. */
bool gv_column_is_text(const struct gv_rows *rows, size_t column);

/* Of what is too long, as much of the start as of the end. */
void gv_row_fit_halve(struct gv_row_fit *fit);

/* fits[] has the columns' whole widths, and is made to fit rows->width for these cells, which
 * are `count` in whole rows. Returns how many columns are shown. */
size_t gv_rows_fit(const struct gv_rows *rows, char *const *texts, size_t count,
                   struct gv_row_fit *fits);

#endif
