#include "report/commands/sql_values.h"

#include "report/analyse/ended.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/demangle.h"
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/ranges/range_name.h"
#include "report/analyse/facts/occupancy.h"
#include "report/show/format.h"
#include "report/store/database.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GV_VALUE_BYTES 2048

static void value_text(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_null(context);
}

static const char *value_argument(sqlite3_value *value)
{
    return (const char *)sqlite3_value_text(value);
}

static void value_duration(sqlite3_context *context, int count, sqlite3_value **values)
{
    char text[GV_FORMAT_BYTES];

    (void)count;
    value_text(context, gv_format_duration(text, sqlite3_value_int64(values[0])));
}

static void value_size(sqlite3_context *context, int count, sqlite3_value **values)
{
    char text[GV_FORMAT_BYTES];

    (void)count;
    value_text(context, gv_format_size(text, sqlite3_value_int64(values[0])));
}

/* 13000 is "CUDA 13.0". */
static void value_version(sqlite3_context *context, int count, sqlite3_value **values)
{
    int64_t version = sqlite3_value_int64(values[0]);
    char text[GV_FORMAT_BYTES * 2];

    (void)count;
    if (version <= 0)
        return;
    snprintf(text, sizeof(text), "%" PRId64 ".%" PRId64, version / 1000, version % 1000 / 10);
    value_text(context, text);
}

static void value_demangle(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *name = value_argument(values[0]);
    char text[GV_VALUE_BYTES];

    (void)count;
    value_text(context, name ? gv_demangle(name, text, sizeof(text)) : NULL);
}

/* A kernel's name for people. */
static void value_short_kernel(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *name = value_argument(values[0]);
    char text[GV_KERNEL_NAME_BYTES];

    (void)count;
    if (!name)
        return;
    gv_kernel_name_short(name, text, sizeof(text));
    value_text(context, text);
}

static void value_result(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    value_text(context,
               gv_format_result(value_argument(values[0]), sqlite3_value_int64(values[1])));
}

static void value_device(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *name = value_argument(values[0]);

    (void)count;
    value_text(context, name && strncmp(name, "GV_SIM ", 7) == 0 ? name + 7 : name);
}

/* The query is kept: to prepare it takes longer than to run it. */
static void value_where(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_stmt **line = sqlite3_user_data(context);
    char text[GV_VALUE_BYTES];

    (void)count;
    if (sqlite3_value_type(values[0]) != SQLITE_NULL &&
        (*line || gv_stack_line_prepare(sqlite3_context_db_handle(context), line) == 0) &&
        gv_stack_line(*line, sqlite3_value_int64(values[0]), text, sizeof(text)) == 0 && text[0])
        value_text(context, text);
}

static void drop_line(void *line)
{
    sqlite3_finalize(*(sqlite3_stmt **)line);
    free(line);
}

static int register_where(sqlite3 *trace)
{
    sqlite3_stmt **line = calloc(1, sizeof(sqlite3_stmt *));

    return line ? sqlite3_create_function_v2(trace, "gv_where", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                             line, value_where, NULL, NULL, drop_line)
                : SQLITE_NOMEM;
}

void gv_sql_values_close(sqlite3 *trace)
{
    sqlite3_create_function_v2(trace, "gv_where", 1, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL);
    sqlite3_close(trace);
}

static void value_ended(sqlite3_context *context, int count, sqlite3_value **values)
{
    char text[64];

    (void)count;
    if (sqlite3_value_int64(values[0]) > 0)
        value_text(context, gv_ended_say(sqlite3_value_int64(values[0]), text, sizeof(text)));
}

static void value_occupancy(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct gv_occupancy_use use = {
        sqlite3_value_int64(values[0]),
        sqlite3_value_int64(values[1]),
        sqlite3_value_int64(values[2]),
        sqlite3_value_int64(values[3]),
    };
    double occupancy = gv_occupancy(&use);

    (void)count;
    if (occupancy >= 0)
        sqlite3_result_double(context, occupancy);
}

static void value_range_is(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *name = value_argument(values[0]);

    (void)count;
    sqlite3_result_int(context, name && gv_range_name_matches(name, value_argument(values[1]),
                                                              value_argument(values[2])));
}

/* What the device did in the time of an account. A cause of stalls is one too. */
static void value_account(sqlite3_context *context, int count, sqlite3_value **values)
{
    static const char *const groups[] = {
        [GV_ACCOUNT_BUSY] = "busy", [GV_ACCOUNT_LOST] = "idle", [GV_ACCOUNT_ASIDE] = "aside"};
    const char *what = value_argument(values[0]);

    (void)count;
    for (unsigned i = 0; what && i < GV_ACCOUNTS; i++) {
        const struct gv_account_words words = gv_account_say(i);
        if (strcmp(words.name, what) != 0)
            continue;
        if (words.group != GV_ACCOUNT_FOUND)
            value_text(context, groups[gv_account_is_work(i) ? GV_ACCOUNT_BUSY : words.group]);
        return;
    }
    value_text(context, what ? "idle" : NULL);
}

/* SQLite may have been built without its sqrt(). */
static void value_root(sqlite3_context *context, int count, sqlite3_value **values)
{
    double number = sqlite3_value_double(values[0]);

    (void)count;
    sqlite3_result_double(context, number > 0 ? sqrt(number) : 0);
}

int gv_sql_values_register(sqlite3 *trace, bool full_names)
{
    const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"gv_duration", 1, value_duration},
        {"gv_size", 1, value_size},
        {"gv_version", 1, value_version},
        {"gv_demangle", 1, value_demangle},
        {"gv_kernel", 1, full_names ? value_demangle : value_short_kernel},
        {"gv_result", 2, value_result},
        {"gv_device", 1, value_device},
        {"gv_occupancy", 4, value_occupancy},
        {"gv_ended", 1, value_ended},
        {"gv_root", 1, value_root},
        {"gv_account", 1, value_account},
        {"gv_range_is", 3, value_range_is},
    };
    int result = gv_stack_text_install(trace) == 0 ? SQLITE_OK : SQLITE_ERROR;

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && result == SQLITE_OK; i++)
        result = sqlite3_create_function(trace, functions[i].name, functions[i].arguments,
                                         SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                         functions[i].function, NULL, NULL);
    if (result == SQLITE_OK)
        result = register_where(trace);
    return gv_database_error(trace, result);
}
