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
#define GV_EXPORT_STACKS(name, write, is_own) GV_EXPORT_##name,
#define GV_EXPORT_TRACE(name, write, is_own)  GV_EXPORT_##name,
#define GV_EXPORT_FOLDER(name, write)         GV_EXPORT_##name,
#include "report/commands/export/formats.def"
};

/* In the order of the option's words. */
static const struct export_format {
    const char *name;
    bool of_stacks;
    gv_export_write *write;
    gv_export_is_own *is_own;
    gv_export_write_folder *write_folder; /* instead of both */
} export_formats[] = {
#define GV_EXPORT_STACKS(name, write, is_own) {#name, true, write, is_own, NULL},
#define GV_EXPORT_TRACE(name, write, is_own)  {#name, false, write, is_own, NULL},
#define GV_EXPORT_FOLDER(name, write)         {#name, false, NULL, NULL, write},
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
    /* Only this one is no text. */
    return (strlen(head) == bytes || format == &export_formats[GV_EXPORT_perfetto]) &&
           format->is_own(head);
}

/* Not even by force: it may be the only one, and a session may be writing it. */
static bool export_is_trace(const struct export *export)
{
    struct stat trace, output;

    return stat(export->trace_path, &trace) == 0 && stat(export->path, &output) == 0 &&
           trace.st_dev == output.st_dev && trace.st_ino == output.st_ino;
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
        if (ferror(file.out))
            error = 0; /* not the trace's: closing says why */
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

static int export_folder(sqlite3 *trace, void *context)
{
    const struct export *export = context;
    int error;

    gv_progress_begin(trace, "gpuverify: reading");
    error = export->format->write_folder(
        trace, export->path, gv_arguments_has(export->arguments, GV_OPTION_export_force));
    gv_progress_end(trace);
    return error == -EEXIST ? GV_EXIT_FAILED : error;
}

static bool export_has_folder(const struct export *export)
{
    return gv_arguments_has(export->arguments, GV_OPTION_export_output) &&
           !gv_output_file_is_stdout(export->path);
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
    if (!export.format->of_stacks && (gv_arguments_has(arguments, GV_OPTION_export_of) ||
                                      gv_arguments_has(arguments, GV_OPTION_export_range)))
        return gv_arguments_refuse(arguments->command, "--of and --range have no effect on --to %s",
                                   export.format->name);
    if (export.format->write_folder && !export_has_folder(&export))
        return gv_arguments_refuse(arguments->command,
                                   "--to %s needs -o FOLDER: it writes a file for each view",
                                   export.format->name);
    export.trace_path = gv_offer_choose(arguments->command, arguments->operands[0], &code);
    if (!export.trace_path)
        return code;
    if (!export.format->write_folder && export_is_trace(&export)) {
        gv_message("%s is the trace itself; -o takes another name", gv_shown_path(export.path));
        return GV_EXIT_FAILED;
    }
    if (!export.format->write_folder && !gv_arguments_has(arguments, GV_OPTION_export_force) &&
        !export_may_replace(export.path, export.format)) {
        gv_message("%s exists, and is not an earlier export as %s; --force overwrites it",
                   export.path, export.format->name);
        return GV_EXIT_FAILED;
    }
    return gv_trace_view_read(export.trace_path,
                              export.format->write_folder ? export_folder : export_trace, &export);
}
