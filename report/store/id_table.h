/*
 * A small table of a trace in memory: numbers by id. Implausible ids are left out and read as
 * nothing, because the trace may be anybody's.
 */
#ifndef GV_STORE_ID_TABLE_H
#define GV_STORE_ID_TABLE_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct gv_id_table {
    int64_t *values;
    size_t rows; /* one more than the highest id */
    size_t columns;
};

/* Reads a query of an id and its numbers; NULL is 0. 0 or -errno. */
int gv_id_table_read(struct gv_id_table *table, sqlite3 *trace, const char *sql);
void gv_id_table_free(struct gv_id_table *table);

static inline int64_t gv_id_table_get(const struct gv_id_table *table, int64_t id, size_t column)
{
    return id > 0 && (uint64_t)id < table->rows
               ? table->values[(size_t)id * table->columns + column]
               : 0;
}

#endif
