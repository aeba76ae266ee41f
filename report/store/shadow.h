/*
 * Temporary tables and views that hide those of a read-only trace. They are made from the schema's
 * own text, not the file's, which may be anybody's.
 */
#ifndef GV_STORE_SHADOW_H
#define GV_STORE_SHADOW_H

#include <sqlite3.h>

/* kind: TABLE or VIEW. One that exists stays. 0 or -errno. */
int gv_shadow_make(sqlite3 *trace, const char *kind, const char *name);

#endif
