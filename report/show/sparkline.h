/* A line of characters whose heights are values. */
#ifndef GV_SHOW_SPARKLINE_H
#define GV_SHOW_SPARKLINE_H

#include <stddef.h>
#include <stdio.h>

/* Writes `count` levels from 0 to 1; a negative one is unknown and becomes a blank. Uses letters
 * if the locale has no block characters. */
void gv_sparkline(FILE *out, const double *levels, size_t count);

#endif
