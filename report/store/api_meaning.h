/*
 * What calls mean, as columns of table api: from trace/call_kinds.def, by their names.
 */
#ifndef GV_STORE_API_MEANING_H
#define GV_STORE_API_MEANING_H

#include <sqlite3.h>

/* Fills the rows whose meaning is not there yet. 0 or -errno. */
int gv_api_meaning_fill(sqlite3 *trace);

#endif
