/* A line of characters whose height says how much. */
#ifndef GV_SHOW_SPARKLINE_H
#define GV_SHOW_SPARKLINE_H

#include <stddef.h>
#include <stdio.h>

/* Writes `count` levels, 0 to 1 each; below 0 is not known, and a blank. In letters where the
 * locale's characters do not show blocks. */
void gv_sparkline(FILE *out, const double *levels, size_t count);

#endif
