/* What failed in a run, in words, with what to do: a line for each kind of result. */
#ifndef GV_COMMANDS_SUMMARY_ERROR_NOTES_H
#define GV_COMMANDS_SUMMARY_ERROR_NOTES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gv_error_notes {
    const char *path;  /* the trace's, for the commands that are offered */
    bool named;        /* these name it */
    const char *first; /* what each note begins with: "  !" */
    int64_t told;      /* a result that was told already; 0: none */
    int most;          /* how many are told */
    bool fatal, other; /* those after which a context is of no more use, and those others */
};

/* Of results for which there are words, those of the most calls first. 0 or -errno. */
int gv_error_notes_print(FILE *out, sqlite3 *trace, const struct gv_error_notes *notes,
                         int columns);

#endif
