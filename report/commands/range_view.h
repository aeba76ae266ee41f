/* The option --range of commands that read a trace. */
#ifndef GV_COMMANDS_RANGE_VIEW_H
#define GV_COMMANDS_RANGE_VIEW_H

#include "report/analyse/ranges/choice.h"
#include "report/commands/arguments.h"

#include <stdio.h>

/* If the option was given, makes `stalls` and `idle` of an open trace show only what is in the
 * ranges that it names, and *choice say which calls are. Else *choice is NULL. 0; GV_EXIT_USAGE
 * after a message; -errno. Close *choice in any case, when the trace is not asked any more. */
int gv_range_view_open(sqlite3 *trace, const struct gv_arguments *arguments,
                       enum gv_option_id option, struct gv_range_choice **choice);

/* Prints a sentence that says which they are, unless `choice` is NULL. */
void gv_range_view_print(const struct gv_range_choice *choice, FILE *out, int columns);

#endif
