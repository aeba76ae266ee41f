/* Checks a trace against rules. */
#ifndef GV_COMMANDS_CHECK_CHECK_RUN_H
#define GV_COMMANDS_CHECK_CHECK_RUN_H

#include "report/commands/check/rules.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

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

/* The results of all rules as JUnit's XML. */
void gv_check_junit_print(FILE *out, const char *trace, const struct gv_check_rules *rules,
                          const struct gv_check_result *results);

#endif
