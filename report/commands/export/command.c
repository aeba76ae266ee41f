/* gpuverify export [FILE] --to FORMAT: a trace for other tools. */
#include "report/commands/commands.h"
#include "report/commands/export/export.h"
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/totals/totals.h"
#include "report/commands/fleet/python.h"
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
#include <unistd.h>

#define GV_EXPORT_HEAD_BYTES 65536

enum export_format_id {
#define GV_EXPORT_STACKS(name, lines, write, is_own) GV_EXPORT_##name,
#define GV_EXPORT_TRACE(name, lines, write, is_own)  GV_EXPORT_##name,
#define GV_EXPORT_FOLDER(name, write)                GV_EXPORT_##name,
#define GV_EXPORT_FLEET(name)                        GV_EXPORT_##name,
#include "report/commands/export/formats.def"
};

/* In the order of the option's words. */
static const struct export_format {
    const char *name;
    bool of_stacks, of_lines; /* what a terminal can show */
    gv_export_write *write;
    gv_export_is_own *is_own;
    gv_export_write_folder *write_folder; /* instead of both */
} export_formats[] = {
#define GV_EXPORT_STACKS(name, lines, write, is_own) {#name, true, lines, write, is_own, NULL},
#define GV_EXPORT_TRACE(name, lines, write, is_own)  {#name, false, lines, write, is_own, NULL},
#define GV_EXPORT_FOLDER(name, write)                {#name, false, true, NULL, NULL, write},
#define GV_EXPORT_FLEET(name)                        {#name, false, true, NULL, NULL, NULL},
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
    failed = gv_output_file_open(&file, export->path, 0600); /* as the trace */
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

static bool export_has_file(const struct export *export)
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

static int export_read(sqlite3 *trace, void *context)
{
    const struct export *export = context;

    return export->format->write_folder ? export_folder(trace, context)
                                        : export_trace(trace, context);
}

/* ---- anonymised ---- */

static int export_anonymise(sqlite3 *trace, const struct export *export, const char *path,
                            struct gv_database *copy)
{
    gv_progress_begin(trace, "gpuverify: renaming");
    int error = gv_anonymise(trace, path, copy);
    gv_progress_end(trace);
    if (!error)
        gv_kernel_names_learn(copy->handle); /* instead of the trace's */
    else if (error == -EINPROGRESS)
        gv_message("%s is still being written: make a snapshot, and anonymise that",
                   gv_shown_path(export->trace_path));
    else
        gv_message("cannot make a copy of %s: %s", gv_shown_path(export->trace_path),
                   strerror(-error));
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

/* Another format, from a copy that nobody sees. */
static int export_anonymised(sqlite3 *trace, void *context)
{
    struct export export = *(const struct export *)context;
    struct gv_database copy;
    int code = export_anonymise(trace, &export, "", &copy);

    if (code)
        return code;
    export.trace_path = "anonymised.db"; /* the file's name may say something too */
    code = export_read(copy.handle, &export);
    gv_database_close(&copy);
    return code;
}

static int export_copy(sqlite3 *trace, void *context)
{
    const struct export *export = context;
    struct gv_database copy;
    struct gv_output_file file;
    int error = gv_output_file_open(&file, export->path, 0600), code = GV_EXIT_FAILED;

    if (!error && !file.part[0]) { /* a pipe, for example: SQLite writes only files */
        gv_output_file_drop(&file);
        error = -ESPIPE;
    }
    if (!error) {
        code = export_anonymise(trace, export, file.part, &copy);
        if (code == GV_EXIT_FINE)
            gv_database_close(&copy);
        if (code == GV_EXIT_FINE)
            error = gv_output_file_close(&file);
        else
            gv_output_file_drop(&file);
    }
    if (error)
        gv_message("cannot write %s: %s", gv_shown_path(export->path), strerror(-error));
    return error ? GV_EXIT_FAILED : code;
}

int gv_export_page(sqlite3 *trace, const char *trace_path, const char *path)
{
    const struct export export = {
        .trace_path = trace_path,
        .format = &export_formats[GV_EXPORT_html],
        .path = path,
    };
    struct stat status;

    /* Nobody asked for this name: a pipe would never be opened. */
    if ((stat(path, &status) == 0 && !S_ISREG(status.st_mode)) ||
        !export_may_replace(path, export.format)) {
        gv_message("no page is written: %s exists, and is not an earlier one", gv_shown_path(path));
        return GV_EXIT_FAILED;
    }
    return export_chosen(trace, &export);
}

/* Whether its output may be written; says why not. */
static bool export_may_write(const struct export *export)
{
    struct stat status;

    if (export->format && export->format->write_folder)
        return true;
    /* Not even by force: it may be the only one, and a session may be writing it. */
    if (gv_output_file_is_same(export->trace_path, export->path)) {
        gv_message("%s is the trace itself; -o takes another name", gv_shown_path(export->path));
        return false;
    }
    if (gv_arguments_has(export->arguments, GV_OPTION_export_force) ||
        (export->format ? export_may_replace(export->path, export->format)
                        : stat(export->path, &status) < 0 || status.st_size == 0))
        return true;
    if (export->format)
        gv_message("%s exists, and is not an earlier export as %s; --force overwrites it",
                   gv_shown_path(export->path), export->format->name);
    else
        gv_message("%s exists; --force overwrites it", gv_shown_path(export->path));
    return false;
}

static bool export_is_fleet(const struct export *export)
{
    return export->format == &export_formats[GV_EXPORT_parquet];
}

static int export_check_fleet(const struct export *export, bool anonymised)
{
    const struct gv_arguments *arguments = export->arguments;

    if (anonymised || gv_arguments_has(arguments, GV_OPTION_export_force) ||
        gv_arguments_has(arguments, GV_OPTION_export_output))
        return gv_arguments_refuse(arguments->command,
                                   "--anonymise, --force and -o have no effect on --to parquet");
    if (arguments->operand_count < 2)
        return gv_arguments_refuse(arguments->command, "--to parquet needs DIR and at least one "
                                                       "TRACE, or a folder of traces");
    return GV_EXIT_FINE;
}

/* GV_EXIT_FINE, or what gv_arguments_refuse() returned. */
static int export_check_words(const struct export *export, bool anonymised)
{
    const struct gv_arguments *arguments = export->arguments;
    const struct export_format *format = export->format;

    if (!format && !anonymised)
        return gv_arguments_refuse(arguments->command, "--to is missing: %s",
                                   gv_options[GV_OPTION_export_to].value);
    if (!(format && format->of_stacks) && (gv_arguments_has(arguments, GV_OPTION_export_of) ||
                                           gv_arguments_has(arguments, GV_OPTION_export_range)))
        return gv_arguments_refuse(arguments->command, "--of and --range have no effect on %s%s",
                                   format ? "--to " : "a trace", format ? format->name : "");
    if (export_is_fleet(export))
        return export_check_fleet(export, anonymised);
    if (gv_arguments_has(arguments, GV_OPTION_export_label) ||
        gv_arguments_has(arguments, GV_OPTION_export_with))
        return gv_arguments_refuse(arguments->command, "--label and --with need --to parquet");
    if (format && format->write_folder && !export_has_file(export))
        return gv_arguments_refuse(arguments->command,
                                   "--to %s needs -o FOLDER: it writes a file for each view",
                                   format->name);
    if (!format && !export_has_file(export))
        return gv_arguments_refuse(arguments->command,
                                   "-o FILE is missing: where to write the anonymised trace");
    if (format && !format->of_lines && !export_has_file(export) && isatty(STDOUT_FILENO))
        return gv_arguments_refuse(
            arguments->command, "--to %s does not write to a terminal: use -o FILE", format->name);
    return GV_EXIT_FINE;
}

int gv_command_export(const struct gv_arguments *arguments)
{
    const struct gv_given *to = gv_arguments_find(arguments, GV_OPTION_export_to);
    const bool anonymised = gv_arguments_has(arguments, GV_OPTION_export_anonymise);
    struct export export = {
        .arguments = arguments,
        .format = to ? &export_formats[to->number] : NULL,
        .what = (enum gv_weighed_id)gv_arguments_number(arguments, GV_OPTION_export_of, 0),
        .path = gv_arguments_text(arguments, GV_OPTION_export_output, "-"),
    };
    int code = export_check_words(&export, anonymised);

    if (code)
        return code;
    if (export_is_fleet(&export))
        return gv_python_become("gpuverify.fleet.export", arguments);
    export.trace_path = gv_offer_choose(arguments->command,
                                        gv_offer_join(arguments, arguments->operand_count), &code);
    if (!export.trace_path)
        return code;
    if (!export_may_write(&export))
        return GV_EXIT_FAILED;
    return gv_trace_view_read(export.trace_path,
                              !anonymised ? export_read
                              : to        ? export_anonymised
                                          : export_copy,
                              &export);
}
