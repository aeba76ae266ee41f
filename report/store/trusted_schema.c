#include "report/store/trusted_schema.h"

#include "report/store/api_meaning.h"
#include "report/store/database.h"
#include "report/store/schema.h"
#include "report/store/shadow.h"
#include "trace/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct gv_trusted {
    sqlite3 *trace;
    bool is_earlier;
    sqlite3_stmt *theirs; /* compares one of their objects with ours */
};

/* The table api, without what calls mean. */
static const char trusted_plain_api[] =
    "CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL)";
static const char trusted_copy_api[] =
    "INSERT INTO temp.api (id, name, class) SELECT id, name, class FROM main.api";
static const char trusted_lacking[] = "SELECT count(*) FROM main.api WHERE gpu_work IS NULL";
static const char trusted_ours[] = "SELECT type, name, sql FROM sqlite_master WHERE type = 'table'";
static const char trusted_views[] = "SELECT name FROM sqlite_master WHERE type = 'view'";
static const char trusted_theirs[] = "SELECT count(*), min(type), min(sql) FROM main.sqlite_master"
                                     " WHERE name = ? COLLATE NOCASE";

/* Tables of sums, which are made anew for an earlier trace. */
static const char *const trusted_made[] = {
#define GV_SCHEMA_MADE_BY_TOTALS(table) #table,
#include "report/store_schema_columns.inc"
};

/* Earlier versions broke lines elsewhere. */
static bool trusted_has_words(const char *text, const char *words)
{
    static const char space[] = " \n";

    while (*text && *words) {
        size_t gap = strspn(text, space), ours = strspn(words, space);
        if ((gap > 0) != (ours > 0) || text[gap] != words[ours])
            return false;
        text += gap + (text[gap] != '\0');
        words += ours + (words[ours] != '\0');
    }
    return *text == *words;
}

/* Whether the file has an object with the name of one of ours, exactly once, with our text. */
static int trusted_compare(sqlite3_stmt *theirs, const char *const words[3], bool *found,
                           bool *same)
{
    int result = sqlite3_reset(theirs);

    if (result == SQLITE_OK)
        result = sqlite3_bind_text(theirs, 1, words[1], -1, SQLITE_TRANSIENT);
    if (result == SQLITE_OK)
        result = sqlite3_step(theirs);
    *found = result == SQLITE_ROW && sqlite3_column_int(theirs, 0) != 0;
    const char *type = *found ? (const char *)sqlite3_column_text(theirs, 1) : NULL;
    const char *text = *found ? (const char *)sqlite3_column_text(theirs, 2) : NULL;
    *same = type && text && words[0] && words[2] && sqlite3_column_int(theirs, 0) == 1 &&
            strcmp(type, words[0]) == 0 && trusted_has_words(text, words[2]);
    return gv_database_error(sqlite3_db_handle(theirs), result);
}

/* Hides a table api that lacks what calls mean by one that has it. */
static int trusted_api(sqlite3 *trace, sqlite3_stmt *theirs, bool same)
{
    static const char *const plain[3] = {"table", "api", trusted_plain_api};
    int64_t lacking = 1;
    bool found = true;
    int error = same ? gv_database_number(trace, trusted_lacking, NULL, 0, &lacking)
                     : trusted_compare(theirs, plain, &found, &same);

    if (error || lacking == 0)
        return error;
    error = same ? gv_shadow_make(trace, "TABLE", "api") : -EBADMSG;
    if (!error)
        error = gv_database_script(trace, trusted_copy_api, NULL, 0);
    return error ? error : gv_api_meaning_fill(trace);
}

static int trusted_table(struct gv_trusted *trusted, const char *const words[3])
{
    const char *name = words[1];
    bool found, same;
    int error = name ? trusted_compare(trusted->theirs, words, &found, &same) : -ENOMEM;

    if (error)
        return error;
    if (strcmp(name, "api") == 0)
        return trusted_api(trusted->trace, trusted->theirs, same);
    if (trusted->is_earlier && (!found || (!same && GV_TEXT_IS_ONE_OF(name, trusted_made))))
        return gv_shadow_make(trusted->trace, "TABLE", name);
    return same ? 0 : -EBADMSG;
}

static int trusted_take(void *context, sqlite3_stmt *ours)
{
    struct gv_trusted *trusted = context;
    const char *const words[3] = {(const char *)sqlite3_column_text(ours, 0),
                                  (const char *)sqlite3_column_text(ours, 1),
                                  (const char *)sqlite3_column_text(ours, 2)};

    return trusted_table(trusted, words);
}

static int trusted_hide(void *trace, sqlite3_stmt *view)
{
    const char *name = (const char *)sqlite3_column_text(view, 0);

    return name ? gv_shadow_make(trace, "VIEW", name) : -ENOMEM;
}

int gv_trusted_schema_ensure(sqlite3 *trace, int64_t *version)
{
    struct gv_trusted trusted = {.trace = trace};
    sqlite3 *own = NULL;
    int error = gv_database_number(trace, "PRAGMA main.user_version", NULL, 0, version);

    if (error)
        return error;
    if (*version < GV_SCHEMA_VERSION_OLDEST || *version > GV_SCHEMA_VERSION)
        return -ENOTSUP;
    if (sqlite3_open(":memory:", &own) != SQLITE_OK ||
        sqlite3_exec(own, gv_schema_sql, NULL, NULL, NULL) != SQLITE_OK)
        error = -ENOMEM;
    trusted.is_earlier = *version < GV_SCHEMA_VERSION;
    if (!error)
        error = gv_database_compile(trace, trusted_theirs, &trusted.theirs);
    if (!error)
        error = gv_database_each(own, trusted_ours, NULL, 0, trusted_take, &trusted);
    if (!error)
        error = gv_database_each(own, trusted_views, NULL, 0, trusted_hide, trace);
    sqlite3_finalize(trusted.theirs);
    sqlite3_close(own);
    return error;
}
