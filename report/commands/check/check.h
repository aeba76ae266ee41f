/* Checks a trace against rules. */
#ifndef GV_COMMANDS_CHECK_CHECK_H
#define GV_COMMANDS_CHECK_CHECK_H

#include "report/commands/arguments.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Why a value is refused. */
#define GV_CHECK_WHY_BYTES 512

/* ---- rules.c: the rules, from the command line and from files ---- */

/* What a rule depends on. */
enum gv_check_needs {
    GV_CHECK_NEEDS_CALLS_LEAST, /* more calls can only satisfy it */
    GV_CHECK_NEEDS_CALLS_MOST,  /* more calls can only break it */
    GV_CHECK_NEEDS_GPU,
    GV_CHECK_NEEDS_GPU_LEAST, /* more of the GPU side can only satisfy it */
    GV_CHECK_NEEDS_GPU_SHARE, /* the same, but more time can break it */
    GV_CHECK_NEEDS_GPU_MOST,  /* more of the GPU side can only break it */
};

struct gv_check_rule;

/* A row of rules.def. */
struct gv_check {
    enum gv_option_id option;
    int (*read)(struct gv_check_rule *rule, char why[GV_CHECK_WHY_BYTES]);
    enum gv_check_needs needs;
    const char *lost; /* the losses that could change the outcome: a condition in SQL */
    const char *sql;
};

struct gv_check_rule {
    const struct gv_check *check;
    char *text;       /* its value as given; NULL: none */
    int64_t number;   /* as in struct gv_given */
    double fraction;  /* as in struct gv_given */
    int64_t launches; /* of no-load-after; 0: it is a time, or a mark */
    char *range;      /* the name of ranges, or of a mark; NULL: another rule */
    char *of;         /* a phase, a file, or the accounts of gv_account_words_of(); NULL: none */
    int64_t line;     /* of the file; 0: any */
};

struct gv_check_rules {
    struct gv_check_rule *rules;
    size_t count, room;
};

/* Writes the reason. -EINVAL. */
int gv_check_refuse(char why[GV_CHECK_WHY_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a rule; ignores an option that is not a rule. 0; -EINVAL: its value is wrong, with the
 * reason in *why; or -ENOMEM. */
int gv_check_rules_add(struct gv_check_rules *rules, const struct gv_given *given,
                       char why[GV_CHECK_WHY_BYTES]);
void gv_check_rules_free(struct gv_check_rules *rules);

/* Adds what a line of a file says, which it may change. 0; -EINVAL: *why has the reason; -ENOMEM.
 */
typedef int gv_check_line(void *into, char *line, char why[GV_CHECK_WHY_BYTES]);
/* Adds each line of a text. The same; *why has the number of the line too. */
int gv_check_lines(const char *text, size_t bytes, gv_check_line *add, void *into,
                   char why[GV_CHECK_WHY_BYTES]);

/* To struct gv_check_rules: "max-stall 10ms", with or without dashes before it and "=" in between;
 * # starts a comment. */
gv_check_line gv_check_rules_line;

/* ---- check_run.c ---- */

enum gv_check_outcome {
    GV_CHECK_KEPT,
    GV_CHECK_BROKEN,
    GV_CHECK_UNKNOWN, /* the trace does not say: not a pass */
};

struct gv_check_result {
    enum gv_check_outcome outcome;
    bool is_said; /* `found` is to be said: not of most kept rules */
    char *found;  /* in words, with text from the trace: escape it; the caller frees it */
};

/* Prepares the connection for the rules. 0 or -errno. */
int gv_check_prepare(sqlite3 *trace);
/* 0 or -errno. An error of SQL gives GV_CHECK_UNKNOWN, with its text. */
int gv_check_rule_run(sqlite3 *trace, const struct gv_check_rule *rule,
                      struct gv_check_result *result);

/* "max-stall 10ms". */
void gv_check_rule_print(FILE *out, const struct gv_check_rule *rule);

/* How many of the rules have this outcome. */
size_t gv_check_count(const struct gv_check_rules *rules, const struct gv_check_result *results,
                      enum gv_check_outcome outcome);

/* junit.c: the results of all rules as JUnit's XML. */
void gv_check_junit_print(FILE *out, const char *trace, const struct gv_check_rules *rules,
                          const struct gv_check_result *results);

/* ---- accept.c: known stalls and findings, which the rules about them leave out ---- */

struct gv_check_accept {
    const char *path; /* NULL: none */
    bool update;
    bool is_new; /* there is no such file, and it is to be written */
    bool of_stalls;
    double least_share; /* of a finding that a new file has; above 1: none */
    struct gv_check_known *lines;
    size_t count, room;
    size_t below; /* lines whose stall is not in the trace, and may be below its threshold */
    int64_t threshold_ns;
};

/* To struct gv_check_accept: a known stall, "module-load train.py load=120ms", or a finding's key,
 * "launching optim.py step"; # starts a comment. */
gv_check_line gv_check_accept_line;

/* Tells a connection which stalls of its trace are accepted, also if none are, and finds those that
 * are gone. After gv_check_prepare(). 0; -errno; or after a message an exit code. */
int gv_check_accept_apply(sqlite3 *trace, struct gv_check_accept *accept);

/* Says on stderr which known stalls are gone, or updates the file. 0, or -errno after a message. */
int gv_check_accept_tell(const struct gv_check_accept *accept);

void gv_check_accept_free(struct gv_check_accept *accept);

#endif
