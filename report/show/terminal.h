/* What the output is: a terminal of some width, or something that wants plain text. */
#ifndef GV_SHOW_TERMINAL_H
#define GV_SHOW_TERMINAL_H

#include <stdio.h>

/* COLUMNS, or the width of the terminal that `out` is; 0: not a terminal, or unknown. */
unsigned int gv_terminal_width(FILE *out);
/* How wide text is on it: as wide as that, within reason; 100 where nothing says it. */
int gv_terminal_columns(FILE *out);

/* Colours have a meaning: what costs time is red, what may is yellow, what is context is dim. */
enum gv_colour { GV_COLOUR_NONE, GV_COLOUR_BOLD, GV_COLOUR_DIM, GV_COLOUR_COST, GV_COLOUR_MAY };
/* What begins it, NONE: what ends all; nothing unless `out` is a terminal that shows colours and
 * weights, and NO_COLOR does not forbid them. */
const char *gv_colour(FILE *out, enum gv_colour colour);

#endif
