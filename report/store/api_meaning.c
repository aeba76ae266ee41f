#include "report/store/api_meaning.h"

#include "report/store/database.h"
#include "report/store_api_meaning.inc"
#include "trace/call_table.h"

/* As numbers from ?5 on. */
static const uint32_t api_meaning_flags[] = {
    GV_CALL_STARTS,       GV_CALL_BEGINS_CAPTURE, GV_CALL_ENDS_CAPTURE,
    GV_CALL_AWAITS_EVENT, GV_CALL_EVERY_CONTEXT,
};

static int api_meaning_write(void *context, sqlite3_stmt *row)
{
    sqlite3_stmt *set = context;
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *class_name = (const char *)sqlite3_column_text(row, 2);
    const struct gv_call_kind_row *kind =
        &gv_call_kinds[gv_call_kind_find(name ? name : "", class_name ? class_name : "")];
    int result = sqlite3_bind_value(set, 1, sqlite3_column_value(row, 0));

    if (result == SQLITE_OK)
        result = sqlite3_bind_text(set, 2, kind->name, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int(set, 3, kind->work);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int(set, 4, kind->memory);
    for (int i = 0;
         i < (int)(sizeof(api_meaning_flags) / sizeof(api_meaning_flags[0])) && result == SQLITE_OK;
         i++)
        result = sqlite3_bind_int(set, 5 + i, (kind->flags & api_meaning_flags[i]) != 0);
    return result == SQLITE_OK ? gv_database_step(set)
                               : gv_database_error(sqlite3_db_handle(set), result);
}

int gv_api_meaning_fill(sqlite3 *trace)
{
    sqlite3_stmt *set = NULL;
    int error = gv_database_compile(trace, sql_set, &set);

    if (!error)
        error = gv_database_each(trace, sql_lacks, NULL, 0, api_meaning_write, set);
    sqlite3_finalize(set);
    return error;
}
