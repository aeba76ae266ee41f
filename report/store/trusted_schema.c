#include "report/store/trusted_schema.h"

#include "report/store/api_meaning.h"
#include "report/store/database.h"
#include "report/store/schema.h"
#include "report/store/shadow.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static int trusted_number(sqlite3 *trace, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return gv_database_error(trace, result);
}

/* The table api, without what calls mean. */
static const char trusted_plain_api[] =
    "CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL)";

/* Whether the file has an object with the name of one of ours, exactly once, with our text. */
static int trusted_compare(sqlite3_stmt *theirs, const char *const words[3], bool *found,
                           bool *same)
{
    int result = sqlite3_reset(theirs);

    for (int i = 0; i < 3 && result == SQLITE_OK; i++)
        result = sqlite3_bind_text(theirs, i + 1, words[i], -1, SQLITE_TRANSIENT);
    if (result == SQLITE_OK)
        result = sqlite3_step(theirs);
    *found = result == SQLITE_ROW && sqlite3_column_int(theirs, 0) != 0;
    *same = result == SQLITE_ROW && sqlite3_column_int(theirs, 1) != 0;
    return gv_database_error(sqlite3_db_handle(theirs), result);
}

/* Hides a table api that lacks what calls mean by one that has it. */
static int trusted_api(sqlite3 *trace, sqlite3_stmt *theirs, bool same)
{
    static const char *const plain[3] = {"table", "api", trusted_plain_api};
    int64_t lacking = 1;
    bool found = true;
    int error = same ? trusted_number(trace, "SELECT count(*) FROM main.api WHERE gpu_work IS NULL",
                                      &lacking)
                     : trusted_compare(theirs, plain, &found, &same);

    if (error || lacking == 0)
        return error;
    error = same ? gv_shadow_make(trace, "TABLE", "api") : -EBADMSG;
    if (!error)
        error = gv_database_error(
            trace, sqlite3_exec(trace,
                                "INSERT INTO temp.api (id, name, class) SELECT id, name, class FROM"
                                " main.api",
                                NULL, NULL, NULL));
    return error ? error : gv_api_meaning_fill(trace);
}

/* A view of an earlier version is always hidden, because it may query tables that only ours
 * have. */
static int trusted_object(sqlite3 *trace, bool is_earlier, const char *const words[3],
                          sqlite3_stmt *theirs)
{
    const char *type = words[0], *name = words[1];
    bool found, same;
    int error = type && name ? trusted_compare(theirs, words, &found, &same) : -ENOMEM;

    if (error)
        return error;
    if (strcmp(type, "view") == 0)
        return same && !is_earlier ? 0 : gv_shadow_make(trace, "VIEW", name);
    if (strcmp(name, "api") == 0)
        return trusted_api(trace, theirs, same);
    if (!found && is_earlier)
        return gv_shadow_make(trace, "TABLE", name);
    return same ? 0 : -EBADMSG;
}

static int trusted_objects(sqlite3 *trace, bool is_earlier, sqlite3 *own)
{
    sqlite3_stmt *ours = NULL, *theirs = NULL;
    int error = 0, result;

    result = sqlite3_prepare_v2(own,
                                "SELECT type, name, sql FROM sqlite_master"
                                " WHERE type IN ('table', 'view') ORDER BY type",
                                -1, &ours, NULL);
    if (result == SQLITE_OK)
        result =
            sqlite3_prepare_v2(trace,
                               "SELECT count(*), count(*) = 1 AND min(type IS ?1 AND sql IS ?3)"
                               " FROM main.sqlite_master WHERE name = ?2 COLLATE NOCASE",
                               -1, &theirs, NULL);
    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(ours);
        const char *const words[3] = {(const char *)sqlite3_column_text(ours, 0),
                                      (const char *)sqlite3_column_text(ours, 1),
                                      (const char *)sqlite3_column_text(ours, 2)};
        if (step == SQLITE_ROW)
            error = trusted_object(trace, is_earlier, words, theirs);
        else
            result = step;
    }
    sqlite3_finalize(ours);
    sqlite3_finalize(theirs);
    return error ? error : gv_database_error(trace, result);
}

int gv_trusted_schema_ensure(sqlite3 *trace, int64_t *version)
{
    sqlite3 *own = NULL;
    int error = trusted_number(trace, "PRAGMA main.user_version", version);

    if (error)
        return error;
    if (*version < GV_SCHEMA_VERSION_OLDEST || *version > GV_SCHEMA_VERSION)
        return -ENOTSUP;
    if (sqlite3_open(":memory:", &own) != SQLITE_OK ||
        sqlite3_exec(own, gv_schema_sql, NULL, NULL, NULL) != SQLITE_OK)
        error = -ENOMEM;
    if (!error)
        error = trusted_objects(trace, *version < GV_SCHEMA_VERSION, own);
    sqlite3_close(own);
    return error;
}
