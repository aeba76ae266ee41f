/* What is said of a program that runs and of which nothing has come for a while: it may hang in a
 * call, which the trace does not know before GPUVERIFY_WATCHDOG has passed. */
#ifndef GV_REPORT_SILENCE_NOTE_H
#define GV_REPORT_SILENCE_NOTE_H

#include "report/run_facts.h"

#include <stdio.h>

/* Nothing of a trace that is complete, or has calls in flight. 0 or -errno. */
int gv_silence_note_print(FILE *out, sqlite3 *trace, const struct gv_run_facts *facts, int columns);

#endif
