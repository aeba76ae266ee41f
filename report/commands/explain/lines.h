/* Text under a short title, broken into lines: "  why     Loading code needs ...". */
#ifndef GV_COMMANDS_EXPLAIN_LINES_H
#define GV_COMMANDS_EXPLAIN_LINES_H

#include <stdio.h>

#define GV_EXPLAIN_INDENT 10
/* A foreign name inside a sentence: printf's format for as much of it as is read. */
#define GV_EXPLAIN_NAME "%.160s"

/* `text` may hold anything: control characters are made visible; a line feed begins a new line. */
void gv_explain_lines(FILE *out, const char *title, const char *text, int columns);

/* The same for a text that is written piece by piece: into what begin() returns, NULL for want of
 * memory; then end() prints it. 0 or -ENOMEM. */
struct gv_explain_paragraph {
    char *text;
    size_t size;
    FILE *stream;
};
FILE *gv_explain_paragraph_begin(struct gv_explain_paragraph *paragraph);
int gv_explain_paragraph_end(struct gv_explain_paragraph *paragraph, FILE *out, const char *title,
                             int columns);

#endif
