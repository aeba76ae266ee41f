/*
 * The evidence of each finding, in words. Each function writes at most GV_VERDICT_TEXT_BYTES; `out`
 * may be NULL.
 */
#ifndef GV_ANALYSE_VERDICT_TEXT_H
#define GV_ANALYSE_VERDICT_TEXT_H

#include "report/analyse/verdict/run_facts.h"

#define GV_VERDICT_TEXT_BYTES 512

void gv_verdict_say_headline(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_no_kernel(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_launch_failed(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_not_run(const struct gv_run_facts *facts, char *out);
/* used: the share of its memory. */
void gv_verdict_say_full(const struct gv_run_facts *facts, double used, char *out);
/* went_on: the program got the memory later, or did not need it. */
void gv_verdict_say_refused(const struct gv_run_facts *facts, bool went_on, char *out);
void gv_verdict_say_blocking(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_unfinished(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_stalled(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_delayed(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_late_rank(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_unexplained(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_load(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_transfer(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_transfer_calls(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_launch(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_launch_calls(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_underfilled(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_idle_line(const struct gv_run_facts *facts, const struct gv_facts_idle *idle,
                              char *out);
void gv_verdict_say_host(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_idle(const struct gv_run_facts *facts, char *out);
void gv_verdict_say_accelerated(const struct gv_run_facts *facts, char *out);

#endif
