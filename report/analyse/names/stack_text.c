#include "report/analyse/names/stack_text.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse_names_stack_text.inc"
#include "report/store/database.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *stack_text_base(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

struct gv_stack_line {
    char *out;
    size_t size;
};

static int stack_text_add(void *context, sqlite3_stmt *frame)
{
    struct gv_stack_line *line = context;
    const char *function = (const char *)sqlite3_column_text(frame, 0);
    const char *library = stack_text_base((const char *)sqlite3_column_text(frame, 1));
    const char *file = stack_text_base((const char *)sqlite3_column_text(frame, 2));
    char short_name[GV_KERNEL_NAME_BYTES];
    size_t used = strlen(line->out), size = line->size - used;
    char *out = line->out + used;
    const char *arrow = used ? " <- " : "";

    if (function)
        gv_function_name_short(function, short_name, sizeof(short_name));
    if (file)
        snprintf(out, size, "%s%s:%lld%s%s", arrow, file, (long long)sqlite3_column_int64(frame, 3),
                 function ? " " : "", function ? short_name : "");
    else if (function)
        snprintf(out, size, "%s%s%s%s", arrow, library ? library : "", library ? " " : "",
                 short_name);
    else
        snprintf(out, size, "%s%s+0x%llx", arrow, library ? library : "?",
                 (unsigned long long)sqlite3_column_int64(frame, 4));
    return 0;
}

int gv_stack_text(sqlite3 *trace, int64_t stack, int frames, char *out, size_t size)
{
    const int64_t values[] = {stack, frames};
    struct gv_stack_line line = {out, size};

    out[0] = '\0';
    return stack ? gv_database_each(trace, sql_frames, values, 2, stack_text_add, &line) : 0;
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

int gv_stack_text_install(sqlite3 *trace)
{
    return sqlite3_create_function(trace, "gv_short_function", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                   NULL, stack_text_function, NULL, NULL) == SQLITE_OK
               ? 0
               : -EIO;
}
