#include "report/store/api_meaning.h"

#include "report/store/database.h"
#include "trace/call_table.h"

static const char api_meaning_lacks[] = "SELECT id, name, class FROM api WHERE gpu_work IS NULL";
static const char api_meaning_set[] =
    "UPDATE api SET kind = lower(replace(?2, '_', '-')), gpu_work = ?3, memory = ?4,"
    " starts_cuda = ?5, begins_capture = ?6, ends_capture = ?7, awaits_event = ?8,"
    " every_context = ?9 WHERE id = ?1";

/* As numbers from ?5 on. */
static const uint32_t api_meaning_flags[] = {
    GV_CALL_STARTS,       GV_CALL_BEGINS_CAPTURE, GV_CALL_ENDS_CAPTURE,
    GV_CALL_AWAITS_EVENT, GV_CALL_EVERY_CONTEXT,
};

static int api_meaning_write(sqlite3_stmt *set, sqlite3_stmt *row)
{
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
    if (result == SQLITE_OK)
        result = sqlite3_step(set);
    sqlite3_reset(set);
    return result == SQLITE_DONE ? SQLITE_OK : result;
}

int gv_api_meaning_fill(sqlite3 *trace)
{
    sqlite3_stmt *rows = NULL, *set = NULL;
    int result = sqlite3_prepare_v2(trace, api_meaning_lacks, -1, &rows, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(trace, api_meaning_set, -1, &set, NULL);
    while (result == SQLITE_OK && (result = sqlite3_step(rows)) == SQLITE_ROW)
        result = api_meaning_write(set, rows);
    sqlite3_finalize(rows);
    sqlite3_finalize(set);
    return gv_database_error(trace, result);
}
