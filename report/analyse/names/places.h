/*
 * Which line of the program a stack stands for, kept in the trace: rows of `place` and
 * `stack_place`, which the views show to everybody who has no function of ours.
 *
 * It is the line that gv_stack_text() prints for a single frame; or, where no line of the program
 * can be on the stack, the step that a library did for it, as its function (node_frames.def). The
 * tables may be temporary ones (report/store/shadow.h).
 */
#ifndef GV_ANALYSE_NAMES_PLACES_H
#define GV_ANALYSE_NAMES_PLACES_H

#include "report/store/key_map.h"

#include <sqlite3.h>
#include <stdint.h>

/* Makes the tables of a read-only trace writable: temporary ones with the same rows hide them. Call
 * it before the next function; more calls do nothing. 0 or -errno. */
int gv_places_open(sqlite3 *trace);

enum gv_place_statement {
    GV_PLACE_KNOWN,
    GV_PLACE_KEEP,
    GV_PLACE_FIND,
    GV_PLACE_ADD,
    GV_PLACE_FRAMES,
    GV_PLACE_NODES,
    GV_PLACE_STATEMENTS
};

/* What was found, and the statements that find it; empty at first, freed before the trace is
 * closed. */
struct gv_places {
    struct gv_key_map known;
    sqlite3_stmt *asked[GV_PLACE_STATEMENTS];
};

/* The row of `place` for a stack, added if it is new. 0: nothing is known. 0 or -errno. */
int gv_place_of_stack(sqlite3 *trace, struct gv_places *places, int64_t stack, int64_t *place);
void gv_places_free(struct gv_places *places);

/* The same for all stacks that a query lists. 0 or -errno. */
int gv_places_of_stacks(sqlite3 *trace, const char *sql);

#endif
