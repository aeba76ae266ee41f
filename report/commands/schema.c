/* gpuverify schema: describes a trace's views, column by column. */
#include "report/commands/commands.h"
#include "report/show/message.h"
#include "report/show/rows.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"
#include "report/store/schema_text.h"
#include "trace/word_distance.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define GV_SCHEMA_NAME_COLUMNS 22
#define GV_SCHEMA_LAST_BYTES   128

static const struct gv_column schema_fields[] = {
    {"object", GV_COLUMN_TEXT}, {"kind", GV_COLUMN_TEXT}, {"row", GV_COLUMN_TEXT},
    {"column", GV_COLUMN_TEXT}, {"type", GV_COLUMN_TEXT}, {"help", GV_COLUMN_TEXT},
};

struct gv_schema_page {
    char last[GV_SCHEMA_LAST_BYTES]; /* the object that was printed last */
    struct gv_rows rows;
};

static const char *schema_or_null(const char *text)
{
    return *text ? text : NULL;
}

static void schema_put(const struct gv_schema_column *column, void *context)
{
    struct gv_schema_page *page = context;

    gv_rows_text(&page->rows, column->object);
    gv_rows_text(&page->rows, column->view ? "view" : "table");
    gv_rows_text(&page->rows, schema_or_null(column->row));
    gv_rows_text(&page->rows, column->name);
    gv_rows_text(&page->rows, schema_or_null(column->type));
    gv_rows_text(&page->rows, schema_or_null(column->help));
}

static void schema_print(const struct gv_schema_column *column, void *context)
{
    struct gv_schema_page *page = context;
    const char *said = column->view ? column->help : column->type;

    if (strcmp(page->last, column->object) != 0) {
        printf("%s%s%s%s\n", *page->last ? "\n" : "", column->object, column->view ? ": " : "",
               column->view ? column->row : " (a table, which may change)");
        snprintf(page->last, sizeof(page->last), "%s", column->object);
    }
    if (*said) {
        char name[GV_SCHEMA_LAST_BYTES];
        snprintf(name, sizeof(name), "  %-*s ", GV_SCHEMA_NAME_COLUMNS, column->name);
        /* Without a width, each column's text is one line. */
        gv_text_lines(stdout, GV_SCHEMA_NAME_COLUMNS + 3, name, said,
                      gv_terminal_width(stdout) ? gv_terminal_columns(stdout) : INT_MAX);
    } else {
        printf("  %s\n", column->name);
    }
}

struct gv_schema_guess {
    const char *word;
    size_t least;
    char nearest[GV_SCHEMA_LAST_BYTES];
};

static void schema_guess(const struct gv_schema_column *column, void *context)
{
    struct gv_schema_guess *guess = context;

    if (gv_word_is_nearer(guess->word, column->object, &guess->least))
        snprintf(guess->nearest, sizeof(guess->nearest), "%s", column->object);
}

static void schema_ignore(const struct gv_schema_column *column, void *context)
{
    (void)column;
    (void)context;
}

/* Tables are shown only on request, because only views are stable. */
static int schema_refuse(const struct gv_command *command, const char *only, bool tables)
{
    struct gv_schema_guess guess = {.word = only, .least = GV_WORD_TYPO};
    bool table = !tables && gv_schema_describe(only, true, schema_ignore, NULL) == 0;
    int error = gv_schema_describe(NULL, tables, schema_guess, &guess);

    if (error || !guess.nearest[0])
        return gv_arguments_refuse(
            command,
            table ? "'%s' is an internal table, which may change (--tables shows it); "
                    "'gpuverify schema' shows the views"
                  : "unknown view '%s'; 'gpuverify schema' shows all",
            only);
    return gv_arguments_refuse(
        command,
        table ? "'%s' is an internal table, which may change (--tables shows it); "
                "did you mean the view '%s'?"
              : "unknown view '%s'; did you mean '%s'?",
        only, guess.nearest);
}

int gv_command_schema(const struct gv_arguments *arguments)
{
    const char *only = arguments->operands[0];
    const char *format = gv_arguments_text(arguments, GV_OPTION_schema_format, "text");
    bool tables = gv_arguments_has(arguments, GV_OPTION_schema_tables);
    struct gv_schema_page page = {.last = ""};
    int error;

    if (strcmp(format, "text") == 0) {
        error = gv_schema_describe(only, tables, schema_print, &page);
    } else {
        gv_rows_begin(&page.rows, stdout, gv_format_find(format), schema_fields,
                      sizeof(schema_fields) / sizeof(schema_fields[0]), NULL);
        error = gv_schema_describe(only, tables, schema_put, &page);
        int written = gv_rows_end(&page.rows);
        error = error ? error : written;
    }
    if (error == -ENOENT)
        return schema_refuse(arguments->command, only, tables);
    if (error)
        gv_message("cannot read the schema: %s", strerror(-error));
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
