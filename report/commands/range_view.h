/* The option --range of commands that read a trace. */
#ifndef GV_COMMANDS_RANGE_VIEW_H
#define GV_COMMANDS_RANGE_VIEW_H

#include "report/analyse/ranges/choice.h"
#include "report/commands/arguments.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* If the option was given, makes `stalls` and `idle` of an open trace show only what is in the
 * ranges that it names, and *choice say which calls are. Else *choice is NULL. 0; GV_EXIT_USAGE
 * after a message; -errno. Close *choice in any case, when the trace is not asked any more. */
int gv_range_view_open(sqlite3 *trace, const struct gv_arguments *arguments,
                       enum gv_option_id option, struct gv_range_choice **choice);

/* Prints a sentence that says which they are, unless `choice` is NULL. */
void gv_range_view_print(const struct gv_range_choice *choice, FILE *out, int columns);

#define GV_RANGE_MISSING_BYTES 1024

/* Says that no range of the trace, and with `marks` no mark, has this name, and which names it has:
 * the nearest one, or the most frequent ones. The names are unescaped. 0 or -errno. */
int gv_range_missing_say(sqlite3 *trace, const char *name, bool marks, char *out, size_t size);

#endif
