#include "report/commands/query/empty.h"

#include "report/show/message.h"

#include <stddef.h>
#include <string.h>

bool gv_query_is_of_gpu(const char *table)
{
    static const char *const tables[] = {"gpu_op", "jit", "overhead", "gpu_module"};

    for (size_t i = 0; table && i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strcmp(table, tables[i]) == 0)
            return true;
    return false;
}

/* Describes the missing part of the GPU side; no row: nothing is missing. */
static const char gv_query_unseen_sql[] =
    "SELECT 'GPU activity of process ' || pid || ' was not recorded: ' || coalesce(gpu_why,"
    " CASE gpu WHEN 'off' THEN 'GPUVERIFY_GPU=off' ELSE gpu END) FROM processes WHERE gpu <> "
    "'cupti'"
    " UNION ALL SELECT 'process ' || pid || ' still runs: its GPU activity comes later'"
    " FROM processes WHERE ended IS NULL"
    " AND (SELECT value FROM meta WHERE key = 'state') IS NOT 'complete'"
    " UNION ALL SELECT 'part of the GPU activity of process ' || pid || ' is missing' FROM"
    " processes WHERE ended = 'killed' OR id IN (SELECT process FROM losses WHERE what LIKE 'GPU %'"
    " AND count > 0) LIMIT 1";

void gv_query_say_empty(sqlite3 *trace, bool of_gpu)
{
    sqlite3_stmt *row = NULL;
    const char *why = NULL;

    if (of_gpu && sqlite3_prepare_v2(trace, gv_query_unseen_sql, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        why = (const char *)sqlite3_column_text(row, 0);
    if (why)
        gv_message("no row: %s", why);
    else
        gv_message("no row");
    sqlite3_finalize(row);
}
