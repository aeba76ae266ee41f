/* Functions for SQL about a trace, which make words of its numbers and names. They return text
 * unescaped. */
#ifndef GV_COMMANDS_SQL_VALUES_H
#define GV_COMMANDS_SQL_VALUES_H

#include <sqlite3.h>
#include <stdbool.h>

/* gv_duration(ns), gv_size(bytes), gv_version(number), gv_demangle(name), gv_kernel(name),
 * gv_result(call, result), gv_device(name), gv_where(stack), gv_occupancy(...), gv_ended(signal),
 * gv_root(number), gv_account(what): 'busy', 'idle' or 'aside', gv_range_is(name, domain, message)
 * of gv_range_name_matches(), and those of gv_stack_text_install(). `full_names`: gv_kernel does
 * not shorten. 0 or -errno. */
int gv_sql_values_register(sqlite3 *trace, bool full_names);
/* Closes a trace, in which they may be registered: gv_where keeps its query. */
void gv_sql_values_close(sqlite3 *trace);

#endif
