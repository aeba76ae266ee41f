/* Shared by the parts of report/analyse/steps. */
#ifndef GV_ANALYSE_STEPS_RUN_H
#define GV_ANALYSE_STEPS_RUN_H

#include "report/analyse/ranges/totals.h"
#include "report/analyse/steps/detector.h"
#include "report/analyse/totals/part.h"
#include "report/store/id_table.h"

#include <sqlite3.h>

/* A call with GPU work, or a wait. */
struct gv_step_call {
    struct gv_step_event event;
    int64_t id, thread, process, start_ns, end_ns;
};

/* report/analyse/steps/words.c: which of the program's words are its steps. */
struct gv_step_words;

/* 0 or -errno; close it in any case. */
int gv_step_words_open(struct gv_step_words **made, sqlite3 *trace,
                       const struct gv_totals_part *part, struct gv_range_totals *totals);
/* Counts a call for the words that it is in. `words` may be NULL, as below. 0 or -errno. */
int gv_step_words_take(struct gv_step_words *words, const struct gv_step_call *call);
/* Fills the tables for the processes with such words. 0 or -errno. */
int gv_step_words_store(struct gv_step_words *words);
void gv_step_words_close(struct gv_step_words *words);

#endif
