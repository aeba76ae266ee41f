/* The rows of a table or of markdown: kept until their widths are known. Parts of
 * report/show/rows.c. */
#ifndef GV_SHOW_ROWS_CELLS_H
#define GV_SHOW_ROWS_CELLS_H

#include "report/show/rows.h"

/* A cell is no wider than this, even where the output is. */
#define GV_CELL_COLUMNS 120u

/* NULL: there is no memory. */
struct gv_row_cells *gv_row_cells_new(void);
void gv_row_cells_free(struct gv_row_cells *cells);

/* Takes a cell for the next column; the text is copied and made harmless. 0 or -errno. */
int gv_row_cells_add(struct gv_rows *rows, const char *text, size_t bytes);
/* Writes what is left. */
void gv_row_cells_end(struct gv_rows *rows);

#endif
