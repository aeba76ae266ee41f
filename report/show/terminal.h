/* What the output is: a terminal of some width, or something that wants plain text. */
#ifndef GV_SHOW_TERMINAL_H
#define GV_SHOW_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* What COLUMNS says, or the columns of the terminal that `out` is; 0: it is none, or does not say.
 */
unsigned int gv_terminal_width(FILE *out);
/* How wide text is on it: as wide as that, within reason; 100 where nothing says it. */
int gv_terminal_columns(FILE *out);
/* Whether `out` is a terminal that shows colours and weights, and NO_COLOR does not forbid them. */
bool gv_terminal_has_colours(FILE *out);

#endif
