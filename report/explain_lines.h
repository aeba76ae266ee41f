/* Text under a short title, broken into lines: "  why     Loading code needs ...". */
#ifndef GV_REPORT_EXPLAIN_LINES_H
#define GV_REPORT_EXPLAIN_LINES_H

#include <stdio.h>

#define GV_EXPLAIN_INDENT 10
/* A foreign name inside a sentence: printf's format for as much of it as is read. */
#define GV_EXPLAIN_NAME "%.160s"

/* `text` may hold anything: control characters are made visible; a line feed begins a new line. */
void gv_explain_lines(FILE *out, const char *title, const char *text, int columns);

#endif
