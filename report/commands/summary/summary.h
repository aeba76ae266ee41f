/* The summary that `gpuverify run` ends with and `gpuverify report` begins with. */
#ifndef GV_COMMANDS_SUMMARY_SUMMARY_H
#define GV_COMMANDS_SUMMARY_SUMMARY_H

#include "report/commands/summary/ledger.h"

/* The whole summary. 0 or -errno. */
int gv_summary_print(const struct gv_summary *summary);
/* Parts of it: the run and a bar; and what follows the findings. 0 or -errno. */
int gv_summary_print_head(const struct gv_summary *summary, const struct gv_summary_ledger *ledger);
int gv_summary_print_rest(const struct gv_summary *summary, const struct gv_summary_ledger *ledger);
/* Whether a device's time is known, so that it is worth telling: also if no kernel ran. */
bool gv_summary_worked(const struct gv_summary_ledger *ledger);
/* "GPU busy 9.00 ms, idle 70.5 ms", of a step if they are told; "" without a lane. */
void gv_summary_say_time(const struct gv_summary_ledger *ledger, char out[GV_SUMMARY_TEXT_BYTES]);
/* What limited the GPU while it was busy, and what took that time: "memory-bound: DRAM 84 %; of
 * it 34 % model.py:34 forward; ..."; "" if there is none. 0 or -errno. */
int gv_summary_say_busy(const struct gv_summary *summary, const struct gv_summary_ledger *ledger,
                        char out[GV_SUMMARY_TEXT_BYTES]);

#endif
