/*
 * A copy of a trace for strangers: with its times, sizes, causes and CUDA's names, and without the
 * names of the program, of its files and of the machine. Each name has the same replacement
 * everywhere. docs/privacy.md says what stays.
 *
 * The copy is a new database into which rows are inserted, so that none of the trace's other bytes,
 * such as those of deleted rows, can be in it.
 */
#ifndef GV_COMMANDS_EXPORT_ANONYMISE_H
#define GV_COMMANDS_EXPORT_ANONYMISE_H

#include "report/store/database.h"

/* Copies an open trace (gv_trace_view_open) into a new one, which the caller closes: in the empty
 * file at `path`, or, if that is "", in a temporary one that SQLite removes. 0; -EINPROGRESS: the
 * trace is not complete; -errno, and there is nothing to close. */
int gv_anonymise(sqlite3 *trace, const char *path, struct gv_database *copy);

#endif
