/*
 * The tables step_series and step: the program's steps, for a part of a trace, and what happened in
 * them. docs/steps.md says what a step is.
 *
 * The program's own words come first: a range or a mark that repeats. Without any, the launches say
 * it (detector.h). Memory does not grow with the trace. It reads the calls with GPU work, and the
 * waits, twice. One thread.
 */
#ifndef GV_ANALYSE_STEPS_STEPS_H
#define GV_ANALYSE_STEPS_STEPS_H

#include "report/analyse/ranges/pass.h"
#include "report/analyse/ranges/totals.h"
#include "report/pass/pass.h"

#include <stdbool.h>

struct gv_steps;

/* Fills the tables, without sums. `ranges`: those of the part; NULL: the trace has none. `kept`:
 * the trace has the steps of all of it, of which those in the part are taken. *made is NULL if
 * there are no steps. 0 or -errno; close it in any case. */
int gv_steps_open(struct gv_steps **made, sqlite3 *trace, const struct gv_totals_part *part,
                  struct gv_pass *pass, struct gv_range_totals *ranges, bool kept);
struct gv_range_consumer gv_steps_consumer(struct gv_steps *steps);
/* After the pass. `steps` may be NULL. 0 or -errno. */
int gv_steps_store(struct gv_steps *steps);
void gv_steps_close(struct gv_steps *steps);

#endif
