/*
 * A stall, or a call that has not returned, in plain words: what, why, a picture of the time around
 * it, where in the code, what else it delayed, what to do.
 */
#ifndef GV_COMMANDS_EXPLAIN_EXPLAIN_H
#define GV_COMMANDS_EXPLAIN_EXPLAIN_H

#include "report/analyse/stalls/rows.h"
#include "report/show/json.h"

#include <stdbool.h>
#include <stdio.h>

/* Where an explanation goes: text, or the members of a JSON object. */
struct gv_explain_out {
    const char *path; /* of the trace */
    FILE *out;
    int columns;
    struct gv_json *json; /* NULL: text */
};

/* Columns before the text of a paragraph, for its title. */
#define GV_EXPLAIN_INDENT 10
/* A foreign name inside a sentence: printf's format for as much of it as is read. */
#define GV_EXPLAIN_NAME "%.160s"

/* report/commands/explain/lines.c: a paragraph, "  why     Loading code needs ...", or "why":
 * "...". `text` may hold anything: control characters are made visible; a line feed begins a new
 * line. */
void gv_explain_lines(const struct gv_explain_out *to, const char *title, const char *text);

/* The same for a text that is written piece by piece: into what begin() returns, NULL for want of
 * memory; then end() prints it, unless it is empty. 0 or -ENOMEM. */
struct gv_explain_paragraph {
    char *text;
    size_t size;
    FILE *stream;
};
FILE *gv_explain_paragraph_begin(struct gv_explain_paragraph *paragraph);
int gv_explain_paragraph_end(struct gv_explain_paragraph *paragraph,
                             const struct gv_explain_out *to, const char *title);

/* 0 or -errno. */
int gv_explain_stall(sqlite3 *trace, const struct gv_stall_row *row,
                     const struct gv_explain_out *to);

/* All calls that had not returned. *told: how many. 0 or -errno. */
int gv_explain_flights(sqlite3 *trace, const struct gv_explain_out *to, int *told);

/* The sentence for a cause; *waits: whether what the GPU had to do belongs to it. Never NULL. */
const char *gv_explain_why(const char *cause, bool *waits);

/* Parts of the above. report/commands/explain/gain.c: what the run would gain without the stall,
 * where that is less than what the stall lost. 0 or -errno. */
int gv_explain_gain(sqlite3 *trace, const struct gv_stall_row *row,
                    const struct gv_explain_out *to);

/* report/commands/explain/probe.c: what `gpuverify probe` measured on this machine about the cause,
 * if this user keeps a result for the driver, and the GPU if the trace knows it, of the stall's
 * process. -ENOMEM is its only error. */
int gv_explain_probe(sqlite3 *trace, const struct gv_stall_row *row,
                     const struct gv_explain_out *to);

/* report/commands/explain/hang.c: the kernel that a call in flight waits for, if that may never
 * end. 0 or -errno. */
struct gv_explain_hang {
    int64_t process;
    int64_t pid;
    int64_t seen_ns; /* how late it was seen that the call had not returned */
    bool ended;      /* the process has */
};
int gv_explain_hang(sqlite3 *trace, const struct gv_explain_hang *hang,
                    const struct gv_explain_out *to);

#endif
