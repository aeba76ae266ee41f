/* gpuverify query FILE SQL|NAME: queries a trace. */
#include "report/commands/commands.h"
#include "report/commands/query/query.h"
#include "report/commands/trace_view.h"
#include "report/show/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int query_list(enum gv_format format)
{
    static const struct gv_column table[] = {{"name", GV_COLUMN_TEXT},
                                             {"what it shows", GV_COLUMN_TEXT}};
    static const struct gv_column fields[] = {
        {"name", GV_COLUMN_TEXT}, {"help", GV_COLUMN_TEXT}, {"sql", GV_COLUMN_TEXT}};
    bool people = format == GV_FORMAT_TABLE || format == GV_FORMAT_MARKDOWN;
    struct gv_rows rows;

    gv_rows_begin(&rows, stdout, format, people ? table : fields, people ? 2 : 3, NULL);
    for (size_t i = 0; i < gv_queries_count; i++) {
        gv_rows_text(&rows, gv_queries[i].name);
        gv_rows_text(&rows, gv_queries[i].help);
        if (!people)
            gv_rows_text(&rows, gv_queries[i].sql);
    }
    return gv_rows_end(&rows) ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

/* The SQL of a name; anything that is not a single word is SQL. NULL: neither. */
static const char *query_text(const char *given)
{
    const struct gv_query *query = gv_query_find(given);

    if (query)
        return query->sql;
    return strpbrk(given, " \t\n(;") ? given : NULL;
}

static int query_unknown(const struct gv_arguments *arguments)
{
    const char *given = arguments->operands[1];
    const struct gv_query *nearest = gv_query_nearest(given);

    if (nearest)
        return gv_arguments_refuse(arguments->command, "unknown query '%s'; did you mean '%s'?",
                                   given, nearest->name);
    return gv_arguments_refuse(
        arguments->command, "'%s' is neither SQL nor a query's name; see 'gpuverify query --list'",
        given);
}

/* Prints why SQL failed. The text may quote the trace. */
static int query_failed(const char *why, int code)
{
    gv_message("the query failed: %s%s", why ? why : "out of memory",
               why && strncmp(why, "no such", 7) == 0 ? "; see 'gpuverify schema'" : "");
    return code;
}

static int query_run(const struct gv_arguments *arguments, sqlite3 *trace, const char *sql,
                     const bool *of_gpu)
{
    bool value = gv_arguments_has(arguments, GV_OPTION_query_value), any = true;
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_query_format, "table"));
    sqlite3_stmt *statement = NULL;
    char *why = NULL;
    int code = GV_EXIT_FINE, error = gv_query_prepare(trace, sql, &statement, &why);

    if (error) {
        code = query_failed(why, GV_EXIT_USAGE);
        sqlite3_free(why);
        return code;
    }
    if (value && sqlite3_column_count(statement) != 1)
        error = -E2BIG;
    else if (value)
        error = gv_query_print_value(statement, stdout);
    else
        error = gv_query_print(statement, stdout, format, &any);
    if (!error && !any && format == GV_FORMAT_TABLE)
        gv_query_say_empty(trace, *of_gpu);
    if (error == -E2BIG)
        code = query_failed("--value needs a query of one column", GV_EXIT_USAGE);
    else if (error == -ENODATA)
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
    if (gv_query_restrict(trace, &of_gpu) == 0)
        code = query_run(arguments, trace, sql, &of_gpu);
    else
        gv_message("%s cannot be opened for reading only", arguments->operands[0]);
    sqlite3_close(trace);
    return code;
}
