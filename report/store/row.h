/*
 * Adds rows to the tables of a trace, with the names of their columns (report/store/schema.def):
 *
 *     error = GV_ADD(database, call_fold, .call = id, .count = 3, .span_ns = span_ns);
 *
 * What is not named is NULL, or 0 if the table wants a value. 0 or -errno. One thread.
 */
#ifndef GV_STORE_ROW_H
#define GV_STORE_ROW_H

#include "report/store/database.h"

#include <stddef.h>
#include <stdint.h>

#define GV_ROW_NULL  INT64_MIN
#define GV_ROW_BATCH 32 /* rows: half the time of single ones */

/* NULL if the number is below 0. */
static inline int64_t gv_row_known(int64_t number)
{
    return number < 0 ? GV_ROW_NULL : number;
}

/* `rows`: one after the other, each a struct gv_row_TABLE. Their texts are UTF-8. GV_ROW_BATCH
 * rows are of a table whose first column is their id; these must be consecutive, and higher than
 * all in the table. Otherwise -EPROTO, and the caller must roll back. */
int gv_row_add(struct gv_database *database, enum gv_table table, const void *rows, size_t count);

#define GV_ADD(database, table, ...)                                                               \
    gv_row_add(database, GV_TABLE_##table, &(const struct gv_row_##table){__VA_ARGS__}, 1)

#endif
