/* What is said of a program that runs and of which nothing has come for a while: it may hang in a
 * call, which the trace does not know before GPUVERIFY_WATCHDOG has passed. */
#ifndef GV_COMMANDS_SILENCE_NOTE_H
#define GV_COMMANDS_SILENCE_NOTE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

/* Nothing of a trace whose processes have ended, or that has calls in flight. It begins with
 * `first`: "  !", or "" or a line feed for a paragraph. *told: whether it said something. 0 or
 * -errno. */
int gv_silence_note_print(FILE *out, sqlite3 *trace, const char *first, int columns, bool *told);

#endif
