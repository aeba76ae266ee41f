/* gpuverify query FILE SQL|NAME: runs SQL on a trace, the user's or a named query of queries.sql.
 * Only reading is allowed: no writing, no other files, no settings of SQLite. */
#include "report/commands/commands.h"
#include "report/commands/progress.h"
#include "report/commands/statement_rows.h"
#include "report/commands/trace_view.h"
#include "report/commands_query_empty.inc"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/rows.h"
#include "trace/text.h"
#include "trace/word_distance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct gv_query {
    const char *name;
    const char *help;
    const char *sql;
} queries[] = {
#define GV_SQL(name, help, text) {#name, help, text},
#include "report/commands_query_queries.inc"
};

static const char query_words[] = ""
#define GV_SQL(name, help, text) " " #name
#include "report/commands_query_queries.inc"
    ;

/* Whether a table of the trace holds what only CUPTI tells. */
static bool query_is_of_gpu(const char *table)
{
    static const char *const tables[] = {"gpu_op", "jit", "overhead", "gpu_module"};

    return table && GV_TEXT_IS_ONE_OF(table, tables);
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

/* Restricts this connection to reading. *of_gpu, which must stay valid, becomes true when a
 * compiled statement reads what only CUPTI reports. 0 or -errno. */
static int query_restrict(sqlite3 *trace, bool *of_gpu)
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

/* Compiles one statement. Returns NULL, or why it cannot be compiled; that text lasts until the
 * trace is asked again. */
static const char *query_prepare(sqlite3 *trace, const char *sql, sqlite3_stmt **statement)
{
    const char *tail = NULL;
    int result = sqlite3_prepare_v2(trace, sql, -1, statement, &tail);

    if (result == SQLITE_AUTH || (*statement && !sqlite3_stmt_readonly(*statement)))
        return "a query can only read";
    if (result != SQLITE_OK)
        return sqlite3_errmsg(trace);
    if (!*statement)
        return "there is no SQL in it";
    return query_goes_on(trace, tail) ? "it is more than one statement" : NULL;
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

/* JSON objects have unique names: a column with an earlier one's name gets a new one, which is in
 * others[] too. The caller frees those with sqlite3_free(). 0 or -ENOMEM. */
static int query_name_apart(struct gv_column *columns, char **others, int count)
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
    for (int i = 1; i < count; i++)
        columns[i].name = others[i] ? others[i] : columns[i].name;
    return 0;
}

/* Writes all rows; *any: there were some. 0; -EINVAL: SQL failed, see sqlite3_errmsg(); or
 * -errno. */
static int query_print(sqlite3_stmt *statement, FILE *out, enum gv_format format, bool *any)
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
        error = gv_statement_rows_write(statement, out, format, columns, count, result, NULL);
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

/* Writes the first value of the first row unchanged; nothing for NULL. 0; -ENODATA: no row;
 * -EINVAL: SQL failed. */
static int query_print_value(sqlite3_stmt *statement, FILE *out)
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

/* Says on stderr that a query gave no row, and why: an empty table does not say whether nothing
 * happened or nothing was seen. `of_gpu`: the query asked for what the GPU did. */
static void query_say_empty(sqlite3 *trace, bool of_gpu)
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

static int query_list(enum gv_format format)
{
    static const struct gv_column table[] = {{"name", GV_COLUMN_TEXT},
                                             {"what it shows", GV_COLUMN_TEXT}};
    static const struct gv_column fields[] = {
        {"name", GV_COLUMN_TEXT}, {"help", GV_COLUMN_TEXT}, {"sql", GV_COLUMN_TEXT}};
    bool people = format == GV_FORMAT_TABLE || format == GV_FORMAT_MARKDOWN;
    struct gv_rows rows;

    gv_rows_begin(&rows, stdout, format, people ? table : fields, people ? 2 : 3, NULL);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        gv_rows_text(&rows, queries[i].name);
        gv_rows_text(&rows, queries[i].help);
        if (!people)
            gv_rows_text(&rows, queries[i].sql);
    }
    return gv_rows_end(&rows) ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

/* The SQL of a name; anything that is not a single word is SQL. NULL: neither. */
static const char *query_text(const char *given)
{
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
        if (gv_word_is(given, queries[i].name, strlen(queries[i].name)))
            return queries[i].sql;
    return strpbrk(given, " \t\n(;") ? given : NULL;
}

static int query_unknown(const struct gv_arguments *arguments)
{
    const char *given = arguments->operands[1];
    char near[GV_WORD_BYTES];

    if (gv_word_nearest(given, query_words, near))
        return gv_arguments_refuse(arguments->command, "unknown query '%s'; did you mean '%s'?",
                                   given, near);
    return gv_arguments_refuse(
        arguments->command, "'%s' is neither SQL nor a query's name; see 'gpuverify query --list'",
        given);
}

/* Prints why SQL failed. The text may quote the trace. */
static int query_failed(const char *why, int code)
{
    gv_message("the query failed: %s%s", why,
               strncmp(why, "no such", 7) == 0 ? "; see 'gpuverify schema'" : "");
    return code;
}

static int query_run(const struct gv_arguments *arguments, sqlite3 *trace, const char *sql,
                     const bool *of_gpu)
{
    bool value = gv_arguments_has(arguments, GV_OPTION_query_value), any = true;
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_query_format, "table"));
    sqlite3_stmt *statement = NULL;
    const char *why = query_prepare(trace, sql, &statement);
    int code = GV_EXIT_FINE, error = 0;

    if (why)
        code = query_failed(why, GV_EXIT_USAGE);
    else if (value && sqlite3_column_count(statement) != 1)
        code = query_failed("--value needs a query of one column", GV_EXIT_USAGE);
    else if (value)
        error = query_print_value(statement, stdout);
    else
        error = query_print(statement, stdout, format, &any);
    if (!error && !any && format == GV_FORMAT_TABLE)
        query_say_empty(trace, *of_gpu);
    if (error == -ENODATA)
        code = query_failed("it returns no row", GV_EXIT_FAILED);
    else if (error == -EINVAL)
        code = query_failed(sqlite3_errmsg(trace), GV_EXIT_FAILED);
    else if (error)
        code = query_failed(strerror(-error), GV_EXIT_FAILED);
    sqlite3_finalize(statement);
    return code;
}

int gv_command_query(const struct gv_arguments *arguments)
{
    sqlite3 *trace = NULL;
    int code = GV_EXIT_FAILED;
    bool of_gpu;

    if (gv_arguments_has(arguments, GV_OPTION_query_list))
        return query_list(
            gv_format_find(gv_arguments_text(arguments, GV_OPTION_query_format, "table")));
    if (arguments->operand_count == 1 && query_text(arguments->operands[0]))
        return gv_arguments_refuse(arguments->command, "FILE is missing before '%s'",
                                   arguments->operands[0]);
    if (arguments->operand_count < 2)
        return gv_arguments_refuse(arguments->command, "%s is missing",
                                   arguments->operand_count ? "the SQL, or a query's name,"
                                                            : "FILE");
    const char *sql = query_text(arguments->operands[1]);
    if (!sql)
        return query_unknown(arguments);
    if (gv_trace_view_open(arguments->operands[0], &trace))
        return GV_EXIT_FAILED;
    if (query_restrict(trace, &of_gpu) == 0)
        code = query_run(arguments, trace, sql, &of_gpu);
    else
        gv_message("%s cannot be opened for reading only", arguments->operands[0]);
    sqlite3_close(trace);
    return code;
}
