/* Compares a trace's tables with gpuverify's own, and hides its views: a file may come from
 * anybody, and its views would run with every query. */
#ifndef GV_STORE_TRUSTED_SCHEMA_H
#define GV_STORE_TRUSTED_SCHEMA_H

#include <sqlite3.h>
#include <stdint.h>

/* Makes sure that each of our tables in the file is what we expect. A temporary view hides each of
 * its views, and reads temporary tables where there are some: nobody may drop one. A table that an
 * earlier schema lacks becomes an empty temporary one. Anything else in the file is never read. 0;
 * -EBADMSG: a table is missing or not ours; -ENOTSUP: another version of the schema, *version; or
 * -errno. */
int gv_trusted_schema_ensure(sqlite3 *trace, int64_t *version);

#endif
