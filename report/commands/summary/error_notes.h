/* Explains failed calls, with what to do: a line for each kind of result. */
#ifndef GV_COMMANDS_SUMMARY_ERROR_NOTES_H
#define GV_COMMANDS_SUMMARY_ERROR_NOTES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gv_error_notes {
    const char *path;  /* the trace's, for the commands that are offered */
    bool named;        /* these name it */
    const char *first; /* the start of each note: "  !" */
    int64_t told;      /* a result that was already printed; 0: none */
    int most;          /* number of notes */
    bool fatal, other; /* results that break the context, and others */
    bool captures;     /* those of lost captures were already printed */
};

/* Prints the results that have words, most frequent first. 0 or -errno. */
int gv_error_notes_print(FILE *out, sqlite3 *trace, const struct gv_error_notes *notes,
                         int columns);

#endif
