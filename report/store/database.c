#include "report/store/database.h"

#include "report/store/schema.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GV_DATABASE_BUSY_MS      2000
#define GV_DATABASE_COMMIT_TRIES 5
/* gpuverify writes no value near this size. */
#define GV_DATABASE_VALUE_BYTES (16 << 20)

static const char *const database_sql[] = {
#define GV_SQL(name, help, text) text,
#include "report/store_statements.inc"
};

/* Others, and files that cannot be opened, have the system's error. */
static const struct {
    int result, error;
} database_errors[] = {
    {SQLITE_OK, 0},           {SQLITE_ROW, 0},           {SQLITE_DONE, 0},
    {SQLITE_NOMEM, ENOMEM},   {SQLITE_FULL, ENOSPC},     {SQLITE_TOOBIG, EFBIG},
    {SQLITE_READONLY, EROFS}, {SQLITE_BUSY, EBUSY},      {SQLITE_LOCKED, EBUSY},
    {SQLITE_NOTADB, EPROTO},  {SQLITE_CORRUPT, EPROTO},  {SQLITE_PERM, EACCES},
    {SQLITE_AUTH, EACCES},    {SQLITE_MISMATCH, EPROTO}, {SQLITE_CONSTRAINT, EPROTO},
};

int gv_database_error(sqlite3 *handle, int result)
{
    int system = handle ? sqlite3_system_errno(handle) : 0;

    result &= 0xff;
    for (size_t i = 0; i < sizeof(database_errors) / sizeof(database_errors[0]); i++)
        if (database_errors[i].result == result)
            return -database_errors[i].error;
    if (system > 0)
        return -system;
    return result == SQLITE_CANTOPEN ? -ENOENT : -EIO;
}

int gv_database_distrust(sqlite3 *connection)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };

    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, GV_DATABASE_VALUE_BYTES);
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (sqlite3_db_config(connection, options[i].option, options[i].value, NULL) != SQLITE_OK)
            return -EIO;
    return 0;
}

static int database_execute(struct gv_database *database, const char *sql)
{
    int result = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);

    return gv_database_error(database->handle, result);
}

static int database_prepare_next(sqlite3 *handle, const char **sql, const int64_t *values,
                                 int count, sqlite3_stmt **rows)
{
    int result = sqlite3_prepare_v2(handle, *sql, -1, rows, sql);

    if (count > sqlite3_bind_parameter_count(*rows))
        count = sqlite3_bind_parameter_count(*rows);
    for (int i = 1; result == SQLITE_OK && i <= count; i++)
        result = sqlite3_bind_int64(*rows, i, values[i - 1]);
    return result;
}

int gv_database_ask(sqlite3 *handle, const char *sql, const int64_t *values, int count,
                    sqlite3_stmt **rows)
{
    return database_prepare_next(handle, &sql, values, count, rows);
}

int gv_database_each(sqlite3 *handle, const char *sql, const int64_t *values, int count,
                     gv_database_take *take, void *context)
{
    sqlite3_stmt *rows = NULL;
    int result = gv_database_ask(handle, sql, values, count, &rows);
    int ended = result == SQLITE_OK ? gv_database_rows(rows, NULL, 0, take, context)
                                    : gv_database_error(handle, result);

    sqlite3_finalize(rows);
    return ended;
}

int gv_database_rows(sqlite3_stmt *rows, const int64_t *values, int count, gv_database_take *take,
                     void *context)
{
    int ended = 0, result = SQLITE_OK;

    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(rows, i + 1, values[i]);
    while (!ended && (result = sqlite3_step(rows)) == SQLITE_ROW)
        ended = take(context, rows);
    sqlite3_reset(rows);
    return ended ? ended : gv_database_error(sqlite3_db_handle(rows), result);
}

static int database_take_number(void *number, sqlite3_stmt *row)
{
    *(int64_t *)number = sqlite3_column_int64(row, 0);
    return 1;
}

int gv_database_number(sqlite3 *handle, const char *sql, const int64_t *values, int count,
                       int64_t *number)
{
    int taken = gv_database_each(handle, sql, values, count, database_take_number, number);

    return taken < 0 ? taken : 0;
}

int gv_database_compile(sqlite3 *handle, const char *sql, sqlite3_stmt **statement)
{
    return gv_database_error(
        handle, sqlite3_prepare_v3(handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
}

int gv_database_add(sqlite3_stmt *statement, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++)
        sqlite3_bind_int64(statement, i + 1, values[i]);
    return gv_database_step(statement);
}

int gv_database_step(sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);

    sqlite3_reset(statement);
    return gv_database_error(sqlite3_db_handle(statement), result);
}

/* SQLite refuses to drop a table while a query is read, and may end the query; and it lets others
 * be made until one of the script cannot. */
static bool database_is_disturbed(sqlite3 *handle, sqlite3_stmt *next)
{
    const char *sql = sqlite3_sql(next) + strspn(sqlite3_sql(next), " \n");
    sqlite3_stmt *read = sqlite3_next_stmt(handle, NULL);

    while (read && !sqlite3_stmt_busy(read))
        read = sqlite3_next_stmt(handle, read);
    return read && (strncmp(sql, "CREATE ", strlen("CREATE ")) == 0 ||
                    strncmp(sql, "DROP ", strlen("DROP ")) == 0);
}

int gv_database_script(sqlite3 *handle, const char *sql, const int64_t *values, int count)
{
    int result = SQLITE_OK;

    while (*sql && (result == SQLITE_OK || result == SQLITE_DONE)) {
        sqlite3_stmt *rows = NULL;
        result = database_prepare_next(handle, &sql, values, count, &rows);
        if (rows && database_is_disturbed(handle, rows))
            result = SQLITE_MISUSE;
        while (rows && (result == SQLITE_OK || result == SQLITE_ROW))
            result = sqlite3_step(rows);
        sqlite3_finalize(rows);
    }
    return gv_database_error(handle, result);
}

int gv_database_begin_writing(sqlite3 *handle)
{
    return gv_database_script(handle, "BEGIN IMMEDIATE", NULL, 0);
}

int gv_database_end_writing(sqlite3 *handle, int error)
{
    if (!error)
        error = gv_database_script(handle, "COMMIT", NULL, 0);
    if (error && !sqlite3_get_autocommit(handle))
        gv_database_script(handle, "ROLLBACK", NULL, 0);
    return error;
}

/* If it is empty, make the schema. Otherwise it must be a trace of this version. */
static int database_check(struct gv_database *database, gv_database_begun *begun, void *context)
{
    sqlite3 *trace = database->handle;
    int64_t application = 0, version = 0, tables = 0;
    int error;

    error = gv_database_number(trace, "SELECT count(*) FROM sqlite_schema", NULL, 0, &tables);
    if (!error)
        error = gv_database_number(trace, "PRAGMA application_id", NULL, 0, &application);
    if (!error)
        error = gv_database_number(trace, "PRAGMA user_version", NULL, 0, &version);
    if (error)
        return error;
    if (tables == 0 && application == 0) {
        error = gv_database_begin(database);
        if (!error)
            error = database_execute(database, gv_schema_sql);
        if (!error && begun)
            error = begun(database, context);
        if (!error)
            error = gv_database_commit(database);
        if (error)
            gv_database_rollback(database);
        return error;
    }
    if (application != GV_SCHEMA_APPLICATION_ID || version != GV_SCHEMA_VERSION)
        return -EPROTO;
    return 0;
}

static int database_open(struct gv_database *database, const char *path, const char *journal,
                         gv_database_begun *begun, void *context)
{
    int error;

    memset(database, 0, sizeof(*database));
    int result =
        sqlite3_open_v2(path, &database->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL);
    error = gv_database_error(database->handle, result);
    if (!error) {
        sqlite3_extended_result_codes(database->handle, 1);
        sqlite3_busy_timeout(database->handle, GV_DATABASE_BUSY_MS);
        error = gv_database_distrust(database->handle);
    }
    if (!error)
        error = database_execute(database, database_sql[GV_STATEMENT_OPEN]);
    if (!error)
        error = database_execute(database, journal);
    if (!error)
        error = database_check(database, begun, context);
    if (error)
        gv_database_close(database);
    return error;
}

int gv_database_open(struct gv_database *database, const char *path, gv_database_begun *begun,
                     void *context)
{
    return database_open(database, path, "PRAGMA main.journal_mode = DELETE", begun, context);
}

int gv_database_open_output(struct gv_database *database, const char *path)
{
    return database_open(database, path, "PRAGMA main.journal_mode = MEMORY", NULL, NULL);
}

void gv_database_close(struct gv_database *database)
{
    for (int i = 0; i < GV_STATEMENT_COUNT; i++)
        sqlite3_finalize(database->statements[i]);
    for (int i = 0; i < GV_TABLE_COUNT; i++) {
        sqlite3_finalize(database->adds[0][i]);
        sqlite3_finalize(database->adds[1][i]);
    }
    sqlite3_close(database->handle);
    memset(database, 0, sizeof(*database));
}

int gv_database_begin(struct gv_database *database)
{
    return database_execute(database, "BEGIN");
}

int gv_database_commit(struct gv_database *database)
{
    return database_execute(database, "COMMIT");
}

int gv_database_commit_patiently(struct gv_database *database)
{
    int error = -EBUSY;

    for (int tries = 0; tries < GV_DATABASE_COMMIT_TRIES && error == -EBUSY; tries++)
        error = gv_database_commit(database);
    return error;
}

void gv_database_rollback(struct gv_database *database)
{
    for (int i = 0; i < GV_STATEMENT_COUNT; i++)
        if (database->statements[i])
            sqlite3_reset(database->statements[i]);
    if (!sqlite3_get_autocommit(database->handle))
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

sqlite3_stmt *gv_database_prepare(struct gv_database *database, enum gv_statement statement,
                                  int *error)
{
    sqlite3_stmt **prepared = &database->statements[statement];

    *error = 0;
    if (*prepared)
        sqlite3_reset(*prepared);
    else
        *error = gv_database_compile(database->handle, database_sql[statement], prepared);
    return *prepared;
}

static int database_bind(sqlite3_stmt *prepared, const char *types, va_list arguments)
{
    int result = SQLITE_OK;

    for (int i = 1; *types && result == SQLITE_OK; types++, i++) {
        const int64_t *number;
        int64_t value;

        switch (*types) {
        case 't':
            result =
                sqlite3_bind_text(prepared, i, va_arg(arguments, const char *), -1, SQLITE_STATIC);
            continue;
        case 'p':
            number = va_arg(arguments, const int64_t *);
            break;
        default:
            value = va_arg(arguments, int64_t);
            number = *types == 'z' && value == 0 ? NULL : &value;
            break;
        }
        result = number ? sqlite3_bind_int64(prepared, i, *number) : sqlite3_bind_null(prepared, i);
    }
    return result;
}

/* Runs a statement up to its first row, if any, and takes its first column. */
static int database_run(struct gv_database *database, enum gv_statement statement, int64_t *found,
                        const char *types, va_list arguments)
{
    int error, result;
    sqlite3_stmt *prepared = gv_database_prepare(database, statement, &error);

    if (!prepared)
        return error;
    result = database_bind(prepared, types, arguments);
    if (result == SQLITE_OK)
        result = sqlite3_step(prepared);
    *found = result == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : 0;
    error = gv_database_error(database->handle, result);
    sqlite3_reset(prepared);
    return error;
}

int gv_database_run(struct gv_database *database, enum gv_statement statement, const char *types,
                    ...)
{
    int64_t found;
    va_list arguments;

    va_start(arguments, types);
    int error = database_run(database, statement, &found, types, arguments);
    va_end(arguments);
    return error;
}

int gv_database_find(struct gv_database *database, enum gv_statement statement, int64_t *found,
                     const char *types, ...)
{
    va_list arguments;

    va_start(arguments, types);
    int error = database_run(database, statement, found, types, arguments);
    va_end(arguments);
    return error;
}

int64_t gv_database_last_id(const struct gv_database *database)
{
    return sqlite3_last_insert_rowid(database->handle);
}

int gv_database_set_meta(struct gv_database *database, const char *key, const char *value)
{
    return gv_database_run(database, GV_STATEMENT_META_SET, "tt", key, value);
}

int gv_database_set_meta_number(struct gv_database *database, const char *key, int64_t value)
{
    return gv_database_run(database, GV_STATEMENT_META_SET, "ti", key, value);
}

int gv_database_get_meta(struct gv_database *database, const char *key, char *value, size_t size)
{
    int error;
    sqlite3_stmt *prepared = gv_database_prepare(database, GV_STATEMENT_META_GET, &error);
    int result;

    if (!prepared)
        return error;
    result = sqlite3_bind_text(prepared, 1, key, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(prepared);
    error = gv_database_error(database->handle, result);
    if (result == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(prepared, 0);
        snprintf(value, size, "%s", text ? (const char *)text : "");
        error = 1;
    }
    sqlite3_reset(prepared);
    return error;
}
