/*
 * Explains a finding, a stall, an unfinished call or an idle time: what, why, a picture of the time
 * around it, where in the code, what else it delayed, what to do.
 *
 * The first error stays in `error`; nothing is explained after it.
 */
#ifndef GV_COMMANDS_EXPLAIN_EXPLAIN_H
#define GV_COMMANDS_EXPLAIN_EXPLAIN_H

#include "report/analyse/idle/listed.h"
#include "report/analyse/stalls/rows.h"
#include "report/show/json.h"

#include <stdbool.h>
#include <stdio.h>

/* The output of explanations: text, or the members of a JSON object. A paragraph is written in
 * pieces to `text`, and then printed by gv_explain_end(). */
struct gv_explain_out {
    sqlite3 *trace;
    const char *path; /* of the trace */
    FILE *out;
    int columns;
    struct gv_json *json; /* NULL: text */
    int told;             /* how many were explained */
    bool has_fix;         /* of what is explained next, and is told */
    int error;
    FILE *text;
    char *written; /* what `text` has got so far */
    size_t bytes;
};

/* Before the first explanation, and after the last one, in any case: 0 or -errno of all. */
void gv_explain_begin(struct gv_explain_out *to);
int gv_explain_finish(struct gv_explain_out *to);

/* Around each: an empty line between texts; an object of JSON. */
void gv_explain_open(struct gv_explain_out *to, const char *key);
void gv_explain_close(struct gv_explain_out *to);

/* Columns before the text of a paragraph, for its title. */
#define GV_EXPLAIN_INDENT 10
/* An untrusted name inside a sentence: printf's format, with the length that is read. */
#define GV_EXPLAIN_NAME "%.160s"

/* Prints a paragraph, "  why     Loading code needs ...", or "why": "..."; nothing for NULL or "".
 * `text` may contain anything: control characters are escaped; a line feed starts a new line. */
void gv_explain_lines(struct gv_explain_out *to, const char *title, const char *text);
/* The same for what was written to to->text since the last paragraph. */
void gv_explain_end(struct gv_explain_out *to, const char *title);
/* The same for a fix, in the only column: a gv_database_take of this context. */
int gv_explain_take_fix(void *to, sqlite3_stmt *row);
/* The same for the first frames of a stack. Whether there are any. */
bool gv_explain_stack(struct gv_explain_out *to, const char *title, int64_t stack, int frames);
#define GV_EXPLAIN_FRAMES 6

void gv_explain_stall(const struct gv_stall_row *row, struct gv_explain_out *to);

void gv_explain_idle(const struct gv_idle_listed *row, struct gv_explain_out *to);

/* A finding of the ledger, and what shows it best. */
struct gv_finding_evidence {
    int64_t stall, idle; /* 0: none is known */
};
struct gv_finding_evidence gv_explain_finding(int64_t id, struct gv_explain_out *to);

/* All unfinished calls. */
void gv_explain_flights(struct gv_explain_out *to);

/* The sentence for a cause; *waits: whether the remaining GPU work belongs to it. Never NULL. */
const char *gv_explain_why(const char *cause, bool *waits);

/* Parts of the above. report/commands/explain/gain.c: what the run would gain without the stall,
 * if that is less than the stall's loss. */
void gv_explain_gain(const struct gv_stall_row *row, struct gv_explain_out *to);

/* report/commands/explain/probe.c: what `gpuverify probe` measured on this machine about the
 * cause, if this user has a result for the driver of the stall's process, and for its GPU if the
 * trace knows it. */
void gv_explain_probe(const struct gv_stall_row *row, struct gv_explain_out *to);

/* report/commands/explain/hang.c: the kernel that an unfinished call waits for, if that may
 * never end. */
struct gv_explain_hang {
    int64_t process;
    int64_t pid;
    int64_t seen_ns; /* when the call was last seen unfinished */
    bool ended;      /* the process has */
};
void gv_explain_hang(const struct gv_explain_hang *hang, struct gv_explain_out *to);

/*
 * report/commands/explain/timeline.c: a picture in letters of what threads and streams did around
 * one call; nothing in JSON.
 *
 *              4.210 s                              5.063 s
 *   thread 1   ----|======= cudaLaunchKernel =======|-.....
 *   stream 7   ##################### gemm ###########......
 *
 * '=' and '#': busy for at least half of the column's time, '-': for some of it, '.': not at all;
 * '|': where the call began and ended.
 */
struct gv_timeline_focus {
    int64_t process;
    int64_t thread;       /* in the call */
    int64_t other_thread; /* whose call stood in the way; 0: none */
    int64_t call;         /* 0: it has not returned */
    bool idle;            /* it is about an idle time, after which the thread gave the GPU work */
    int64_t start_ns;
    int64_t end_ns;
};
void gv_timeline_print(const struct gv_timeline_focus *focus, struct gv_explain_out *to);

#endif
