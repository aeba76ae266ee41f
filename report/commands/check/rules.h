/* The rules for a trace, from the command line and from files. */
#ifndef GV_COMMANDS_CHECK_RULES_H
#define GV_COMMANDS_CHECK_RULES_H

#include "report/commands/arguments.h"

#include <stdbool.h>
#include <stddef.h>

/* What a rule depends on. */
enum gv_check_needs {
    GV_CHECK_NEEDS_CALLS_LEAST, /* more calls can only satisfy it */
    GV_CHECK_NEEDS_CALLS_MOST,  /* more calls can only break it */
    GV_CHECK_NEEDS_GPU,
    GV_CHECK_NEEDS_GPU_LEAST, /* more of the GPU side can only satisfy it */
    GV_CHECK_NEEDS_GPU_SHARE, /* the same, but more time can break it */
    GV_CHECK_NEEDS_GPU_MOST,  /* more of the GPU side can only break it */
};

/* A row of rules.def. */
struct gv_check {
    enum gv_option_id option;
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
    bool is_share;    /* `text` is a share, or OF=SHARE */
    char *of;         /* a phase, a file, or the accounts of gv_account_words_of(); NULL: none */
    int64_t line;     /* of the file; 0: any */
};

struct gv_check_rules {
    struct gv_check_rule *rules;
    size_t count;
};

#define GV_CHECK_WHY_BYTES 512

/* Adds a rule; ignores an option that is not a rule. 0; -EINVAL: its value is wrong, with the
 * reason in *why; or -ENOMEM. */
int gv_check_rules_add(struct gv_check_rules *rules, const struct gv_given *given,
                       char why[GV_CHECK_WHY_BYTES]);

/* Adds the rules of a text: one per line, as "max-stall 10ms", with or without dashes before it
 * and "=" in between; # starts a comment. 0; -EINVAL: *why has the reason and the line; -ENOMEM. */
int gv_check_rules_parse(struct gv_check_rules *rules, const char *text, size_t bytes,
                         char why[GV_CHECK_WHY_BYTES]);

void gv_check_rules_free(struct gv_check_rules *rules);

#endif
