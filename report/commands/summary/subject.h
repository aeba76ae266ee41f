/* What a summary is about, and where it is printed. */
#ifndef GV_COMMANDS_SUMMARY_SUBJECT_H
#define GV_COMMANDS_SUMMARY_SUBJECT_H

#include "report/analyse/ended.h"
#include "report/analyse/facts/facts.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

#define GV_SUMMARY_TEXT_BYTES 2048
/* Columns of the program's name. */
#define GV_SUMMARY_NAME 120

struct gv_summary {
    sqlite3 *trace;
    const char *path; /* the trace's, for the commands that are offered */
    FILE *out;
    int columns;
    const struct gv_totals_part *part;
    const struct gv_run_facts *facts; /* of that part */
    const struct gv_fact_list *list;  /* what is true of it beside the ledger */
    const struct gv_ended *ended;     /* how one of its processes ended, if that is known */
    bool evidence;                    /* below each finding, its evidence */
};

#endif
