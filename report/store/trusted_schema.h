/*
 * A trace's tables and views, compared with those that gpuverify makes: a file may come from
 * anybody, and a view of somebody's would be run with every question.
 */
#ifndef GV_STORE_TRUSTED_SCHEMA_H
#define GV_STORE_TRUSTED_SCHEMA_H

#include <sqlite3.h>
#include <stdint.h>

/* Sees to it that what has the name of one of our tables is that table, and that every view is
 * ours: one that the file has otherwise, or lacks, is hidden by a temporary one. A table that an
 * earlier version of the schema did not have is an empty temporary one. What else is in the file is
 * never looked at. 0; -EBADMSG: a table is missing or not ours; -ENOTSUP: another
 * version of the schema, *version; or -errno. */
int gv_trusted_schema_ensure(sqlite3 *trace, int64_t *version);

#endif
