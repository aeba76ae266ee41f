/*
 * What is true of a run, in words. Each function writes at most GV_FACTS_SENTENCE_BYTES.
 */
#ifndef GV_ANALYSE_FACTS_TEXT_H
#define GV_ANALYSE_FACTS_TEXT_H

#include "report/analyse/facts/run_facts.h"

#define GV_FACTS_SENTENCE_BYTES 512

/* The run, or the part of it, in a sentence. */
void gv_facts_say_headline(const struct gv_run_facts *facts, char *out);
void gv_facts_say_no_kernel(const struct gv_run_facts *facts, char *out);
void gv_facts_say_launch_failed(const struct gv_run_facts *facts, char *out);
void gv_facts_say_not_run(const struct gv_run_facts *facts, char *out);
/* used: the share of its memory. */
void gv_facts_say_full(const struct gv_run_facts *facts, double used, char *out);
/* went_on: the program got the memory later, or did not need it. */
void gv_facts_say_refused(const struct gv_run_facts *facts, bool went_on, char *out);
void gv_facts_say_blocking(const struct gv_run_facts *facts, char *out);
void gv_facts_say_unfinished(const struct gv_run_facts *facts, char *out);
void gv_facts_say_growth(const struct gv_run_facts *facts, char *out);
void gv_facts_say_late_rank(const struct gv_run_facts *facts, char *out);

#endif
