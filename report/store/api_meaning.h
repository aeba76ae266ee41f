/*
 * The meaning of calls as columns of the table api: from trace/call_kinds.def, by name.
 */
#ifndef GV_STORE_API_MEANING_H
#define GV_STORE_API_MEANING_H

#include <sqlite3.h>

/* Fills in the rows without a meaning. 0 or -errno. */
int gv_api_meaning_fill(sqlite3 *trace);

#endif
