/* Wraps text to a width, and escapes it for printing. A command of gpuverify stays in one line if
 * it fits there, so that it can be pasted. */
#ifndef GV_SHOW_TEXT_LINES_H
#define GV_SHOW_TEXT_LINES_H

#include <stdio.h>

/* Starts the first line with `first` (unchanged) and the others with `indent` blanks. Ends the
 * last line. */
void gv_text_lines(FILE *out, int indent, const char *first, const char *text, int columns);
/* The same for what printf makes of a format. */
void gv_text_say(FILE *out, int indent, const char *first, int columns, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same, in a line that already has `column` columns. */
void gv_text_lines_on(FILE *out, int indent, int column, const char *text, int columns);

#endif
