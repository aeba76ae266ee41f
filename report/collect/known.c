#include "report/collect/known.h"

static const char known_table_sql[] =
    "CREATE TEMP TABLE IF NOT EXISTS known (known, part_1, part_2, part_3, value,"
    " PRIMARY KEY (known, part_1, part_2, part_3)) WITHOUT ROWID";

/* Moves everything in memory to the table. */
static int known_spill(struct gv_known *known, struct gv_database *database)
{
    static int64_t last;
    int error = gv_database_error(
        database->handle, sqlite3_exec(database->handle, known_table_sql, NULL, NULL, NULL));

    if (!known->number)
        known->number = ++last;
    for (size_t i = 0; i < known->recent.places && !error; i++) {
        const struct gv_key_entry *entry = &known->recent.entries[i];
        if (entry->value)
            error = gv_database_run(database, GV_STATEMENT_KNOWN_ADD, "iiiii", known->number,
                                    (int64_t)entry->key.part[0], (int64_t)entry->key.part[1],
                                    (int64_t)entry->key.part[2], entry->value);
    }
    if (error)
        return error;
    gv_key_map_free(&known->recent);
    return 0;
}

int gv_known_add(struct gv_known *known, struct gv_database *database, const struct gv_key *key,
                 int64_t value)
{
    int error = 0;

    if (known->recent.used >= GV_KNOWN_MOST)
        error = known_spill(known, database);
    return error ? error : gv_key_map_add(&known->recent, key, value);
}

int gv_known_find(struct gv_known *known, struct gv_database *database, const struct gv_key *key,
                  int64_t *value)
{
    int error, result;
    sqlite3_stmt *find;

    *value = gv_key_map_find(&known->recent, key);
    if (*value || !known->number)
        return 0;
    find = gv_database_prepare(database, GV_STATEMENT_KNOWN_FIND, &error);
    if (!find)
        return error;
    sqlite3_bind_int64(find, 1, known->number);
    for (int i = 0; i < 3; i++)
        sqlite3_bind_int64(find, i + 2, (int64_t)key->part[i]);
    result = sqlite3_step(find);
    if (result == SQLITE_ROW)
        *value = sqlite3_column_int64(find, 0);
    error = gv_database_error(database->handle, result);
    sqlite3_reset(find);
    return error || !*value ? error : gv_known_add(known, database, key, *value);
}

void gv_known_free(struct gv_known *known, struct gv_database *database)
{
    gv_key_map_free(&known->recent);
    /* Rows that stay only take space: their numbers are not reused. */
    if (known->number && database->handle)
        gv_database_run(database, GV_STATEMENT_KNOWN_CLEAR, "i", known->number);
    known->number = 0;
}
