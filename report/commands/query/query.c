#include "report/commands/query/query.h"

#include "report/commands/progress.h"
#include "report/commands_query_empty.inc"
#include "report/show/format.h"
#include "report/show/message.h"
#include "trace/text.h"
#include "trace/word_distance.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct gv_query gv_queries[] = {
#define GV_SQL(name, help, text) {#name, help, text},
#include "report/commands_query_queries.inc"
};

const size_t gv_queries_count = sizeof(gv_queries) / sizeof(gv_queries[0]);

const struct gv_query *gv_query_find(const char *name)
{
    for (size_t i = 0; i < gv_queries_count; i++)
        if (strcmp(gv_queries[i].name, name) == 0)
            return &gv_queries[i];
    return NULL;
}

const struct gv_query *gv_query_nearest(const char *name)
{
    const struct gv_query *nearest = NULL;
    size_t least = GV_WORD_TYPO;

    for (size_t i = 0; i < gv_queries_count; i++)
        if (gv_word_is_nearer(name, gv_queries[i].name, &least))
            nearest = &gv_queries[i];
    return nearest;
}

/* Whether a table of the trace holds what only CUPTI tells. */
static bool query_is_of_gpu(const char *table)
{
    static const char *const tables[] = {"gpu_op", "jit", "overhead", "gpu_module"};

    for (size_t i = 0; table && i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strcmp(table, tables[i]) == 0)
            return true;
    return false;
}

/* SQLite calls it for each action of a statement. */
static int query_allow(void *context, int action, const char *first, const char *second,
                       const char *database, const char *cause)
{
    bool *of_gpu = context;

    (void)database;
    (void)cause;
    if (action == SQLITE_READ && query_is_of_gpu(first))
        *of_gpu = true;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

int gv_query_restrict(sqlite3 *trace, bool *of_gpu)
{
    *of_gpu = false;
    if (sqlite3_exec(trace, "PRAGMA query_only = ON", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_set_authorizer(trace, query_allow, of_gpu) != SQLITE_OK)
        return -EIO;
    return 0;
}

/* Whether more than blanks and comments follows; SQLite decides. */
static bool query_goes_on(sqlite3 *trace, const char *tail)
{
    sqlite3_stmt *next = NULL;
    int result = sqlite3_prepare_v2(trace, tail, -1, &next, NULL);
    bool more = result != SQLITE_OK || next;

    sqlite3_finalize(next);
    return more;
}

int gv_query_prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement, char **why)
{
    const char *tail = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, statement, &tail);

    *why = NULL;
    if (result == SQLITE_AUTH || (*statement && !sqlite3_stmt_readonly(*statement)))
        *why = sqlite3_mprintf("a query can only read");
    else if (result != SQLITE_OK)
        *why = sqlite3_mprintf("%s", sqlite3_errmsg(trace));
    else if (!*statement)
        *why = sqlite3_mprintf("there is no SQL in it");
    else if (query_goes_on(trace, tail))
        *why = sqlite3_mprintf("it is more than one statement");
    if (!*why)
        return 0;
    sqlite3_finalize(*statement);
    *statement = NULL;
    return -EINVAL;
}

static void query_put_blob(struct gv_rows *rows, const unsigned char *bytes, size_t count)
{
    char *text = malloc(count * 2 + 4);

    if (!text) {
        gv_rows_null(rows);
        rows->error = -ENOMEM;
        return;
    }
    strcpy(text, "x'");
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 + i * 2, 3, "%02x", bytes[i]);
    strcpy(text + 2 + count * 2, "'");
    gv_rows_bytes(rows, text, strlen(text));
    free(text);
}

static void query_put(struct gv_rows *rows, sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        gv_rows_number(rows, sqlite3_column_int64(statement, column));
        break;
    case SQLITE_FLOAT:
        gv_rows_real(rows, sqlite3_column_double(statement, column));
        break;
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        gv_rows_bytes(rows, text ? text : "", (size_t)sqlite3_column_bytes(statement, column));
        break;
    }
    case SQLITE_BLOB: {
        const unsigned char *bytes = sqlite3_column_blob(statement, column);
        query_put_blob(rows, bytes, (size_t)sqlite3_column_bytes(statement, column));
        break;
    }
    default:
        gv_rows_null(rows);
        break;
    }
}

/* The first step may take long: a sort or sum reads everything before its first row. */
static int query_first(sqlite3_stmt *statement)
{
    sqlite3 *trace = sqlite3_db_handle(statement);

    gv_progress_begin(trace, "gpuverify: asking the trace");
    int result = sqlite3_step(statement);
    gv_progress_end(trace);
    return result;
}

/* Numbers are right-aligned, according to the first row. */
static void query_columns(sqlite3_stmt *statement, bool row, struct gv_column *columns, int count)
{
    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(statement, i);
        int type = row ? sqlite3_column_type(statement, i) : SQLITE_NULL;
        columns[i].name = name ? name : "";
        columns[i].kind =
            type == SQLITE_INTEGER || type == SQLITE_FLOAT ? GV_COLUMN_NUMBER : GV_COLUMN_NAME;
    }
}

static bool query_is_taken(const struct gv_column *columns, char *const *others, int count, int at,
                           const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(columns[i].name, name) == 0 || (i < at && others[i] && !strcmp(others[i], name)))
            return true;
    return false;
}

/* JSON objects have unique names: others[] gets a new name for a column with an earlier one's
 * name, or NULL. The caller frees them with sqlite3_free(). 0 or -ENOMEM. */
static int query_other_names(const struct gv_column *columns, char **others, int count)
{
    for (int i = 1; i < count; i++) {
        int number = 1;
        for (int j = 0; j < i; j++)
            number += strcmp(columns[i].name, columns[j].name) == 0;
        while (number > 1 && !others[i]) {
            char *name = sqlite3_mprintf("%s_%d", columns[i].name, number++);
            if (!name)
                return -ENOMEM;
            if (query_is_taken(columns, others, count, i, name))
                sqlite3_free(name);
            else
                others[i] = name;
        }
    }
    return 0;
}

static int query_name_apart(struct gv_column *columns, char **others, int count)
{
    int error = query_other_names(columns, others, count);

    for (int i = 0; i < count && !error; i++)
        if (others[i])
            columns[i].name = others[i];
    return error;
}

static int query_write(sqlite3_stmt *statement, FILE *out, enum gv_format format,
                       const struct gv_column *columns, int count, int result)
{
    struct gv_rows rows;

    gv_rows_begin(&rows, out, format, columns, (size_t)count, NULL);
    for (; result == SQLITE_ROW && !rows.error && !ferror(out); result = sqlite3_step(statement))
        for (int i = 0; i < count; i++)
            query_put(&rows, statement, i);
    int error = gv_rows_end(&rows);
    if (!error && result != SQLITE_DONE)
        error = ferror(out) ? -EIO : -EINVAL;
    return error;
}

int gv_query_print(sqlite3_stmt *statement, FILE *out, enum gv_format format, bool *any)
{
    int count = sqlite3_column_count(statement), result = query_first(statement), error = 0;
    struct gv_column *columns = calloc((size_t)count + 1, sizeof(*columns));
    char **others = calloc((size_t)count + 1, sizeof(*others));

    *any = result == SQLITE_ROW;
    if (!columns || !others)
        error = -ENOMEM;
    else if (result != SQLITE_ROW && result != SQLITE_DONE) /* before anything is written */
        error = -EINVAL;
    if (!error)
        query_columns(statement, result == SQLITE_ROW, columns, count);
    if (!error && format == GV_FORMAT_JSON)
        error = query_name_apart(columns, others, count);
    if (!error)
        error = query_write(statement, out, format, columns, count, result);
    for (int i = 0; others && i < count; i++)
        sqlite3_free(others[i]);
    free(others);
    free(columns);
    return error;
}

/* Text is printed unchanged for scripts; a terminal gets it escaped. */
static int query_print_text(FILE *out, const char *text, size_t bytes)
{
    if (!isatty(fileno(out))) {
        fwrite(text, 1, bytes, out);
        return 0;
    }
    size_t room = bytes * 6 + 1;
    char *escaped = malloc(room);
    if (!escaped)
        return -ENOMEM;
    gv_text_escape(escaped, room, text);
    fputs(escaped, out);
    free(escaped);
    return 0;
}

int gv_query_print_value(sqlite3_stmt *statement, FILE *out)
{
    int result = query_first(statement), error = 0;
    char text[GV_FORMAT_BYTES];

    if (result == SQLITE_DONE)
        return -ENODATA;
    if (result != SQLITE_ROW)
        return -EINVAL;
    switch (sqlite3_column_type(statement, 0)) {
    case SQLITE_INTEGER:
        fprintf(out, "%" PRId64, (int64_t)sqlite3_column_int64(statement, 0));
        break;
    case SQLITE_FLOAT:
        fputs(gv_format_real(text, sqlite3_column_double(statement, 0)), out);
        break;
    case SQLITE_NULL:
        break;
    default: {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        if (found)
            error = query_print_text(out, found, (size_t)sqlite3_column_bytes(statement, 0));
        break;
    }
    }
    fputc('\n', out);
    return error;
}

void gv_query_say_empty(sqlite3 *trace, bool of_gpu)
{
    sqlite3_stmt *row = NULL;
    const char *why = NULL;

    if (of_gpu && sqlite3_prepare_v2(trace, sql_unseen, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW)
        why = (const char *)sqlite3_column_text(row, 0);
    if (why)
        gv_message("no row: %s", why);
    else
        gv_message("no row");
    sqlite3_finalize(row);
}
