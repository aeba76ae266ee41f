/* A note about a running program without recent records: it may hang in a call, which the trace
 * does not show before GPUVERIFY_WATCHDOG has passed. */
#ifndef GV_COMMANDS_SILENCE_NOTE_H
#define GV_COMMANDS_SILENCE_NOTE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints nothing for a trace whose processes have ended, or that has unfinished calls. Starts
 * with `first`: "  !", or "" or a line feed for a paragraph. *told: it printed something. 0 or
 * -errno. */
int gv_silence_note_print(FILE *out, sqlite3 *trace, const char *first, int columns, bool *told);

#endif
