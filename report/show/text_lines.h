/* Text broken into lines of a width, with what it holds made safe to print. */
#ifndef GV_SHOW_TEXT_LINES_H
#define GV_SHOW_TEXT_LINES_H

#include <stdio.h>

/* Begins the first line with `first` (as it is) and the others with `indent` blanks. Ends it. */
void gv_text_lines(FILE *out, int indent, const char *first, const char *text, int columns);
/* The same, in a line that has `column` columns already. */
void gv_text_lines_on(FILE *out, int indent, int column, const char *text, int columns);

#endif
