/* A note about the first lost capture: the call that lost it, the capture, their lines, the fix. */
#ifndef GV_COMMANDS_CAPTURE_NOTE_H
#define GV_COMMANDS_CAPTURE_NOTE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

/* Starts with `first`: "  !", or "" or a line feed for a paragraph. *told: there is a lost capture.
 * 0 or -errno. */
int gv_capture_note_print(FILE *out, sqlite3 *trace, const char *first, int columns, bool *told);

#endif
