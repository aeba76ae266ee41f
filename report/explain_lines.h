/* Text under a short title, broken into lines: "  why     Loading code needs ...". */
#ifndef GV_REPORT_EXPLAIN_LINES_H
#define GV_REPORT_EXPLAIN_LINES_H

#include <stdio.h>

#define GV_EXPLAIN_INDENT 10

/* `text` may hold anything: control characters are made visible; a line feed begins a new line. */
void gv_explain_lines(FILE *out, const char *title, const char *text, int columns);

#endif
