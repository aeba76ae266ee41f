/*
 * Temporary tables and views that hide those of a read-only trace. They are made from the schema's
 * own text, not the file's, which may be anybody's.
 */
#ifndef GV_STORE_SHADOW_H
#define GV_STORE_SHADOW_H

#include <sqlite3.h>
#include <stddef.h>

/* kind: TABLE or VIEW. One that exists stays. 0 or -errno. */
int gv_shadow_make(sqlite3 *trace, const char *kind, const char *name);
int gv_shadow_make_all(sqlite3 *trace, const char *kind, const char *const names[], size_t count);

/* Runs a statement for each of some tables, with %s for the name. 0 or -errno. */
int gv_shadow_each(sqlite3 *trace, const char *format, const char *const names[], size_t count);

#endif
