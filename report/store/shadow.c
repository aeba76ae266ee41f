#include "report/store/shadow.h"

#include "report/store/database.h"
#include "report/store/schema.h"

#include <string.h>

int gv_shadow_make(sqlite3 *trace, const char *kind, const char *name)
{
    char *head = sqlite3_mprintf("CREATE %s %s ", kind, name), *sql = NULL;
    const char *found = head ? strstr(gv_schema_sql, head) : NULL;
    sqlite3_stmt *statement = NULL;
    int result = SQLITE_NOMEM;

    if (found)
        sql = sqlite3_mprintf("CREATE TEMP %s IF NOT EXISTS %s", kind,
                              found + strlen("CREATE ") + strlen(kind));
    /* SQLite compiles one statement and ignores what follows. */
    if (sql)
        result = sqlite3_prepare_v2(trace, sql, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    sqlite3_free(head);
    return gv_database_error(trace, result);
}

int gv_shadow_make_all(sqlite3 *trace, const char *kind, const char *const names[], size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++)
        error = gv_shadow_make(trace, kind, names[i]);
    return error;
}

int gv_shadow_each(sqlite3 *trace, const char *format, const char *const names[], size_t count)
{
    char sql[128];
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        sqlite3_snprintf(sizeof(sql), sql, format, names[i]);
        error = gv_database_script(trace, sql, NULL, 0);
    }
    return error;
}
