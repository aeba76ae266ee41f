/*
 * Explains a stall, an unfinished call or an idle time: what, why, a picture of the time around it,
 * where in the code, what else it delayed, what to do.
 */
#ifndef GV_COMMANDS_EXPLAIN_EXPLAIN_H
#define GV_COMMANDS_EXPLAIN_EXPLAIN_H

#include "report/analyse/idle/listed.h"
#include "report/analyse/stalls/rows.h"
#include "report/show/json.h"

#include <stdbool.h>
#include <stdio.h>

/* The output of an explanation: text, or the members of a JSON object. A paragraph is written in
 * pieces to `text`, and then printed by gv_explain_end(). */
struct gv_explain_out {
    const char *path; /* of the trace */
    FILE *out;
    int columns;
    struct gv_json *json; /* NULL: text */
    FILE *text;
    char *written; /* what `text` has got so far */
    size_t bytes;
};

/* Columns before the text of a paragraph, for its title. */
#define GV_EXPLAIN_INDENT 10
/* An untrusted name inside a sentence: printf's format, with the length that is read. */
#define GV_EXPLAIN_NAME "%.160s"

/* Prints a paragraph, "  why     Loading code needs ...", or
 * "why": "...". `text` may contain anything: control characters are escaped; a line feed starts
 * a new line. */
void gv_explain_lines(const struct gv_explain_out *to, const char *title, const char *text);

/* The same for what was written to to->text since the last paragraph; nothing if that is empty. 0
 * or -ENOMEM. */
int gv_explain_end(const struct gv_explain_out *to, const char *title);

/* 0 or -errno. */
int gv_explain_stall(sqlite3 *trace, const struct gv_stall_row *row,
                     const struct gv_explain_out *to);

/* 0 or -errno. */
int gv_explain_idle(sqlite3 *trace, const struct gv_idle_listed *row,
                    const struct gv_explain_out *to);

/* A finding of the ledger, and what shows it best: 0 or -errno. */
struct gv_finding_evidence {
    int64_t stall, idle; /* 0: none is known */
};
int gv_explain_finding_evidence(sqlite3 *trace, int64_t id, struct gv_finding_evidence *evidence);
int gv_explain_finding(sqlite3 *trace, int64_t id, const struct gv_explain_out *to,
                       struct gv_finding_evidence *evidence);

/* All unfinished calls. *told: their number. 0 or -errno. */
int gv_explain_flights(sqlite3 *trace, const struct gv_explain_out *to, int *told);

/* The sentence for a cause; *waits: whether the remaining GPU work belongs to it. Never NULL. */
const char *gv_explain_why(const char *cause, bool *waits);

/* Parts of the above. report/commands/explain/gain.c: what the run would gain without the stall,
 * if that is less than the stall's loss. 0 or -errno. */
int gv_explain_gain(sqlite3 *trace, const struct gv_stall_row *row,
                    const struct gv_explain_out *to);

/* report/commands/explain/probe.c: what `gpuverify probe` measured on this machine about the
 * cause, if this user has a result for the driver of the stall's process, and for its GPU if the
 * trace knows it. Its only error is -ENOMEM. */
int gv_explain_probe(sqlite3 *trace, const struct gv_stall_row *row,
                     const struct gv_explain_out *to);

/* report/commands/explain/hang.c: the kernel that an unfinished call waits for, if that may
 * never end. 0 or -errno. */
struct gv_explain_hang {
    int64_t process;
    int64_t pid;
    int64_t seen_ns; /* when the call was last seen unfinished */
    bool ended;      /* the process has */
};
int gv_explain_hang(sqlite3 *trace, const struct gv_explain_hang *hang,
                    const struct gv_explain_out *to);

#endif
