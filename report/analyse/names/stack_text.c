#include "report/analyse/names/stack_text.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse_names_stack_text.inc"
#include "report/show/format.h"
#include "report/store/database.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 256 /* of a file or a library: names of files are no longer */

struct gv_stack_line {
    char *out;
    size_t size;
    int64_t python; /* depth of the Python frame before; -1: none */
};

void gv_frame_text(const struct gv_frame_names *frame, char *out, size_t size)
{
    char library[NAME_BYTES] = "", file[NAME_BYTES] = "", function[GV_KERNEL_NAME_BYTES] = "";

    if (frame->library)
        gv_format_cut(library, sizeof(library), gv_text_base(frame->library));
    if (frame->file)
        gv_format_cut(file, sizeof(file), gv_text_base(frame->file));
    if (frame->function)
        gv_function_name_short(frame->function, function, sizeof(function));
    if (frame->file)
        snprintf(out, size, "%s:%lld%s%s", file, (long long)frame->line, function[0] ? " " : "",
                 function);
    else if (frame->function)
        snprintf(out, size, "%s%s%s", library, frame->library ? " " : "", function);
    else if (frame->address)
        snprintf(out, size, "%s+0x%llx", frame->library ? library : "?",
                 (unsigned long long)frame->address);
    else
        snprintf(out, size, "%s", frame->library ? library : "?");
}

static int stack_text_add(void *context, sqlite3_stmt *row)
{
    struct gv_stack_line *line = context;
    const struct gv_frame_names frame = {
        .function = (const char *)sqlite3_column_text(row, 0),
        .library = (const char *)sqlite3_column_text(row, 1),
        .file = (const char *)sqlite3_column_text(row, 2),
        .line = sqlite3_column_int64(row, 3),
        .address = sqlite3_column_int64(row, 4),
    };
    int64_t python = sqlite3_column_int(row, 5) ? sqlite3_column_int64(row, 6) : -1;
    int64_t between = line->python >= 0 && python > line->python ? python - line->python - 1 : 0;
    size_t used;

    line->python = python;
    if (line->out[0])
        gv_format_add(line->out, line->size, " <- ");
    if (between > 0)
        gv_format_add(line->out, line->size, "... %lld frame%s ... <- ", (long long)between,
                      gv_format_plural(between));
    used = strlen(line->out);
    gv_frame_text(&frame, line->out + used, line->size - used);
    return 0;
}

int gv_stack_text(sqlite3 *trace, int64_t stack, int frames, char *out, size_t size)
{
    const int64_t values[] = {stack, frames};
    struct gv_stack_line line = {out, size, -1};

    out[0] = '\0';
    return stack ? gv_database_each(trace, sql_frames, values, 2, stack_text_add, &line) : 0;
}

const char *gv_stack_where(sqlite3 *trace, int64_t stack, char *out, size_t size)
{
    return gv_stack_text(trace, stack, 1, out, size) == 0 && out[0] ? out : NULL;
}

int gv_stack_line_prepare(sqlite3 *trace, sqlite3_stmt **line)
{
    return gv_database_compile(trace, sql_line, line);
}

int gv_stack_line(sqlite3_stmt *statement, int64_t stack, char *out, size_t size)
{
    struct gv_stack_line line = {out, size, -1};

    out[0] = '\0';
    return stack ? gv_database_rows(statement, &stack, 1, stack_text_add, &line) : 0;
}

static void stack_text_function(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *name = (const char *)sqlite3_value_text(values[0]);
    char short_name[GV_KERNEL_NAME_BYTES];

    (void)count;
    if (!name)
        return;
    gv_function_name_short(name, short_name, sizeof(short_name));
    sqlite3_result_text(context, short_name, -1, SQLITE_TRANSIENT);
}

static void stack_text_line(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct gv_frame_names frame = {
        .function = (const char *)sqlite3_value_text(values[0]),
        .library = (const char *)sqlite3_value_text(values[1]),
        .file = (const char *)sqlite3_value_text(values[2]),
        .line = sqlite3_value_int64(values[3]),
    };
    char text[2 * GV_KERNEL_NAME_BYTES];

    (void)count;
    if (!frame.function && !frame.library && !frame.file)
        return;
    gv_frame_text(&frame, text, sizeof(text));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int gv_stack_text_install(sqlite3 *trace)
{
    const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int result = sqlite3_create_function(trace, "gv_short_function", 1, flags, NULL,
                                         stack_text_function, NULL, NULL);

    if (result == SQLITE_OK)
        result =
            sqlite3_create_function(trace, "gv_line", 4, flags, NULL, stack_text_line, NULL, NULL);
    return result == SQLITE_OK ? 0 : -EIO;
}
