#include "report/store/id_table.h"

#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GV_ID_TABLE_MOST (INT64_C(1) << 26)
/* Ids count up, so a file with few rows cannot have high ones. This limits them: a base, plus
 * more for each row. Otherwise a small file could make us allocate a huge table. */
#define GV_ID_TABLE_SPARE   (INT64_C(1) << 16)
#define GV_ID_TABLE_FOR_ROW 64

static int id_table_grow(struct gv_id_table *table, size_t rows)
{
    size_t room = table->rows ? table->rows : 64;

    if (rows <= table->rows)
        return 0;
    while (room < rows)
        room *= 2;
    int64_t *values = realloc(table->values, room * table->columns * sizeof(*values));
    if (!values)
        return -ENOMEM;
    memset(values + table->rows * table->columns, 0,
           (room - table->rows) * table->columns * sizeof(*values));
    table->values = values;
    table->rows = room;
    return 0;
}

/* One more than the highest id that such a query can return. 0 or -errno. */
static int id_table_limit(sqlite3 *trace, const char *sql, int64_t *limit)
{
    char *counting = sqlite3_mprintf("SELECT count(*) FROM (%s)", sql);
    int64_t count = 0;
    int error = counting ? gv_database_number(trace, counting, NULL, 0, &count) : -ENOMEM;

    *limit = count < GV_ID_TABLE_MOST / GV_ID_TABLE_FOR_ROW
                 ? GV_ID_TABLE_SPARE + count * GV_ID_TABLE_FOR_ROW
                 : GV_ID_TABLE_MOST;
    sqlite3_free(counting);
    return error;
}

struct gv_id_table_reading {
    struct gv_id_table *table;
    int64_t limit;
};

static int id_table_take(void *context, sqlite3_stmt *row)
{
    const struct gv_id_table_reading *reading = context;
    struct gv_id_table *table = reading->table;
    int64_t id = sqlite3_column_int64(row, 0);
    int error;

    table->columns = (size_t)sqlite3_column_count(row) - 1;
    if (id <= 0 || id >= reading->limit)
        return 0;
    error = id_table_grow(table, (size_t)id + 1);
    for (size_t i = 0; !error && i < table->columns; i++)
        table->values[(size_t)id * table->columns + i] = sqlite3_column_int64(row, (int)i + 1);
    return error;
}

int gv_id_table_read(struct gv_id_table *table, sqlite3 *trace, const char *sql)
{
    struct gv_id_table_reading reading = {.table = table};
    int error = id_table_limit(trace, sql, &reading.limit);

    return error ? error : gv_database_each(trace, sql, NULL, 0, id_table_take, &reading);
}

void gv_id_table_free(struct gv_id_table *table)
{
    free(table->values);
    memset(table, 0, sizeof(*table));
}
