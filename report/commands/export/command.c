/* gpuverify export [FILE] --to FORMAT: a trace for other tools. */
#include "report/commands/commands.h"
#include "report/commands/export/export.h"
#include "report/analyse/totals/totals.h"
#include "report/commands/offer.h"
#include "report/commands/range_view.h"
#include "report/commands/progress.h"
#include "report/commands/sql_values.h"
#include "report/commands/trace_view.h"
#include "report/commands_query_empty.inc"
#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define GV_EXPORT_HEAD_BYTES 65536

enum export_format_id {
#define GV_EXPORT_FORMAT(name, write, is_own) GV_EXPORT_##name,
#include "report/commands/export/formats.def"
};

/* In the order of the option's words. */
static const struct export_format {
    const char *name;
    gv_export_write *write;
    gv_export_is_own *is_own;
} export_formats[] = {
#define GV_EXPORT_FORMAT(name, write, is_own) {#name, write, is_own},
#include "report/commands/export/formats.def"
};

struct export
{
    const struct gv_arguments *arguments; /* NULL: of another command */
    const char *trace_path;
    const struct export_format *format;
    enum gv_weighed_id what;
    const char *path; /* of the output */
};

/* Whether a file may be overwritten: it is empty, or looks like an earlier export. */
static bool export_may_replace(const char *path, const struct export_format *format)
{
    static char head[GV_EXPORT_HEAD_BYTES];
    struct stat status;
    FILE *file;
    size_t bytes;

    if (gv_output_file_is_stdout(path) || stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size == 0)
        return true;
    file = fopen(path, "re");
    if (!file)
        return false;
    bytes = fread(head, 1, sizeof(head) - 1, file);
    head[bytes] = '\0';
    (void)fclose(file);
    return strlen(head) == bytes && format->is_own(head);
}

static int export_say_word(void *context, sqlite3_stmt *row)
{
    const char **why = context;

    *why = (const char *)sqlite3_column_text(row, 0);
    gv_message("nothing to export: %s", *why ? *why : "?");
    return 0;
}

/* Says why there is nothing. */
static int export_say_empty(sqlite3 *trace, const struct export *export)
{
    const char *why = NULL;
    int error = 0;

    if (export->what == GV_WEIGHED_gpu)
        error = gv_database_each(trace, sql_unseen, NULL, 0, export_say_word, &why);
    if (!error && !why)
        gv_message("nothing to export: %s has no %s", gv_shown_path(export->trace_path),
                   gv_weighed[export->what].title);
    return error ? error : GV_EXIT_FAILED;
}

static int export_chosen(sqlite3 *trace, const struct export *export)
{
    struct gv_weighed what = gv_weighed[export->what];
    struct gv_output_file file;
    int error = gv_sql_values_register(trace, false), failed = 0;

    if (error)
        return error;
    failed = gv_output_file_open(&file, export->path);
    if (!failed) {
        if (export->arguments)
            what.range = gv_arguments_text(export->arguments, GV_OPTION_export_range, NULL);
        what.path = export->trace_path;
        gv_progress_begin(trace, "gpuverify: reading");
        error = export->format->write(trace, &what, file.out);
        gv_progress_end(trace);
        if (error)
            gv_output_file_drop(&file);
        else
            failed = gv_output_file_close(&file);
    }
    if (error == -ENODATA)
        return export_say_empty(trace, export);
    if (failed && !gv_output_file_is_stdout(export->path)) /* of stdout main() tells */
        gv_message("cannot write %s: %s", export->path, strerror(-failed));
    return error ? error : failed ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

static int export_trace(sqlite3 *trace, void *context)
{
    const struct export *export = context;
    struct gv_totals_part part = GV_TOTALS_ALL;
    struct gv_range_choice *ranges;
    int code = gv_range_view_open(trace, export->arguments, GV_OPTION_export_range, &ranges);

    part.ranges = ranges;
    if (!code && ranges && export->what == GV_WEIGHED_gpu)
        code = gv_totals_ensure(trace, &part);
    if (!code)
        code = export_chosen(trace, export);
    gv_range_choice_close(ranges);
    return code;
}

int gv_export_page(sqlite3 *trace, const char *trace_path, const char *path)
{
    const struct export export = {
        .trace_path = trace_path,
        .format = &export_formats[GV_EXPORT_html],
        .path = path,
    };

    if (!export_may_replace(path, export.format)) {
        gv_message("no page is written: %s exists, and is not an earlier one", gv_shown_path(path));
        return GV_EXIT_FAILED;
    }
    return export_chosen(trace, &export);
}

int gv_command_export(const struct gv_arguments *arguments)
{
    const struct gv_given *to = gv_arguments_find(arguments, GV_OPTION_export_to);
    struct export export = {
        .arguments = arguments,
        .what = (enum gv_weighed_id)gv_arguments_number(arguments, GV_OPTION_export_of, 0),
        .path = gv_arguments_text(arguments, GV_OPTION_export_output, "-"),
    };
    int code = GV_EXIT_USAGE;

    if (!to)
        return gv_arguments_refuse(arguments->command, "--to is missing: %s",
                                   gv_options[GV_OPTION_export_to].value);
    export.format = &export_formats[to->number];
    if (to->number == GV_EXPORT_html && (gv_arguments_has(arguments, GV_OPTION_export_of) ||
                                         gv_arguments_has(arguments, GV_OPTION_export_range)))
        return gv_arguments_refuse(arguments->command, "--of and --range have no effect on --to %s",
                                   export.format->name);
    if (!gv_arguments_has(arguments, GV_OPTION_export_force) &&
        !export_may_replace(export.path, export.format)) {
        gv_message("%s exists, and is not an earlier export as %s; --force overwrites it",
                   export.path, export.format->name);
        return GV_EXIT_FAILED;
    }
    export.trace_path = gv_offer_choose(arguments->command, arguments->operands[0], &code);
    return export.trace_path ? gv_trace_view_read(export.trace_path, export_trace, &export) : code;
}
