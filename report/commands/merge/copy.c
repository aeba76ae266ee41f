#include "report/commands/merge/merge.h"

#include "report/commands_merge_copy.inc"
#include "report/store/api_meaning.h"
#include "report/store/safe_sum.h"
#include "trace/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rules ---- */

enum copy_how { COPIED, TIME, EMPTY };

static const struct copy_rule {
    const char *table, *column, *of, *below;
    enum copy_how how;
} rules[] = {
#define GV_SCHEMA_COLUMN(table, column, of, below, how, rule) {#table, #column, of, below, how},
#include "report/store_schema_columns.inc"
};

static const char *const not_merged[] = {
#define GV_SCHEMA_NOT_MERGED(table) #table,
#include "report/store_schema_columns.inc"
};

static const char *const shared[] = {
#define GV_SCHEMA_SHARED(table) #table,
#include "report/store_schema_columns.inc"
};

/* ---- one table ---- */

static struct copy_rule rule_of(const char *table, const char *column)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strcmp(rules[i].table, table) == 0 && strcmp(rules[i].column, column) == 0) {
            struct copy_rule rule = rules[i];
            if (strcmp(column, "id") == 0)
                rule.of = table;
            return rule;
        }
    return (struct copy_rule){table, column, "", "", COPIED};
}

static int64_t added_to(const struct gv_merge_copy *copy, const char *table)
{
    for (size_t i = 0; i < copy->table_count; i++)
        if (strcmp(copy->tables[i].name, table) == 0)
            return copy->tables[i].added;
    return 0;
}

/* The expression that makes a column of the job of one of the trace. */
static void append_column(const struct gv_merge_copy *copy, const struct gv_trace_clock *clock,
                          const char *table, const char *column, sqlite3_str *sql)
{
    const struct copy_rule rule = rule_of(table, column);
    const long long added = added_to(copy, rule.of), below = added_to(copy, rule.below);
    const bool is_api = strcmp(rule.of, "api") == 0, is_stack = strcmp(rule.of, "stack") == 0;

    if (rule.how == EMPTY)
        sqlite3_str_appendall(sql, "NULL");
    else if (is_stack || (is_api && !copy->same_api))
        sqlite3_str_appendf(sql, "(SELECT new FROM temp.shared_%s WHERE old = s.\"%w\")", rule.of,
                            column);
    else if (added || below)
        sqlite3_str_appendf(sql, "\"%w\" + iif(\"%w\" > 0, %lld, %lld)", column, column, added,
                            -below);
    else if (rule.how == TIME)
        sqlite3_str_appendf(sql, "\"%w\" + %lld", column, (long long)clock->offset_ns);
    else
        sqlite3_str_appendf(sql, "\"%w\"", column);
    if (rule.how == TIME && (clock->drift < 0 || clock->drift > 0))
        sqlite3_str_appendf(sql, " + CAST(\"%w\" * %!.17g AS INTEGER)", column, clock->drift);
}

/* Of a table of the job: what it has as columns. */
static int read_columns(sqlite3 *job, const char *table, sqlite3_stmt **columns)
{
    char sql[128];

    sqlite3_snprintf(sizeof(sql), sql, "SELECT * FROM main.\"%w\"", table);
    return gv_database_compile(job, sql, columns);
}

/* A trace of an earlier schema may lack the table. */
static int has_table(sqlite3 *job, const char *table, int64_t *found)
{
    char sql[160];

    sqlite3_snprintf(sizeof(sql), sql,
                     "SELECT count(*) FROM source.sqlite_master WHERE type = 'table' AND name = %Q",
                     table);
    return gv_database_number(job, sql, NULL, 0, found);
}

/* One statement reads the trace and writes the job row by row. */
static int copy_table(struct gv_merge_copy *copy, const struct gv_trace_clock *clock,
                      const char *table)
{
    sqlite3 *job = copy->job.handle;
    sqlite3_stmt *columns = NULL;
    int64_t found = 0;
    int error = has_table(job, table, &found);

    if (error || !found)
        return error;
    error = read_columns(job, table, &columns);
    sqlite3_str *sql = sqlite3_str_new(job);
    sqlite3_str_appendf(sql, "INSERT %s INTO main.\"%w\" SELECT ",
                        GV_TEXT_IS_ONE_OF(table, shared) ? "OR IGNORE" : "", table);
    for (int i = 0; i < sqlite3_column_count(columns); i++) {
        sqlite3_str_appendall(sql, i ? ", " : "");
        append_column(copy, clock, table, sqlite3_column_name(columns, i), sql);
    }
    sqlite3_finalize(columns);
    sqlite3_str_appendf(sql, " FROM source.\"%w\" s", table);
    char *text = sqlite3_str_finish(sql);
    if (!error)
        error = text ? gv_database_script(job, text, NULL, 0) : -ENOMEM;
    sqlite3_free(text);
    return error;
}

/* ---- one trace ---- */

static int take_table(void *context, sqlite3_stmt *row)
{
    struct gv_merge_copy *copy = context;
    const char *name = (const char *)sqlite3_column_text(row, 0);

    if (GV_TEXT_IS_ONE_OF(name, not_merged))
        return 0;
    if (copy->table_count == GV_MERGE_TABLES)
        return -E2BIG;
    snprintf(copy->tables[copy->table_count++].name, GV_MERGE_NAME_BYTES, "%s", name);
    return 0;
}

static int count_rows(struct gv_merge_copy *copy)
{
    int error = 0;

    for (size_t i = 0; i < copy->table_count && !error; i++) {
        struct gv_merge_table *table = &copy->tables[i];
        sqlite3_stmt *columns = NULL;
        char sql[128];
        table->added = 0;
        error = read_columns(copy->job.handle, table->name, &columns);
        bool has_id = !error && strcmp(sqlite3_column_name(columns, 0), "id") == 0;
        sqlite3_finalize(columns);
        if (!has_id)
            continue;
        sqlite3_snprintf(sizeof(sql), sql, "SELECT coalesce(max(id), 0) FROM main.\"%w\"",
                         table->name);
        error = gv_database_number(copy->job.handle, sql, NULL, 0, &table->added);
    }
    return error;
}

/* SQLite does not follow a link here. */
static int attach(sqlite3 *job, const char *path)
{
    char resolved[PATH_MAX];

    if (!realpath(path, resolved))
        return -errno;
    char *sql = sqlite3_mprintf("ATTACH %Q AS source", resolved);
    int error = sql ? gv_database_script(job, sql, NULL, 0) : -ENOMEM;

    sqlite3_free(sql);
    return error;
}

static int share(struct gv_merge_copy *copy)
{
    sqlite3 *job = copy->job.handle;
    const int64_t stacks = added_to(copy, "stack");
    int64_t same = 0, found = 0;
    int error = gv_database_script(job, sql_share_api, NULL, 0);

    if (!error)
        error = gv_api_meaning_fill(job);
    if (!error)
        error = gv_database_script(job, sql_no_host_stacks, NULL, 0);
    if (!error)
        error = has_table(job, "host_function", &found);
    if (!error && found)
        error = gv_database_script(job, sql_host_stacks, NULL, 0);
    if (!error)
        error = gv_database_script(job, sql_share_stacks, &stacks, 1);
    if (!error)
        error = gv_database_number(job, sql_is_same, NULL, 0, &same);
    copy->same_api = same != 0;
    return error;
}

static int copy_tables(struct gv_merge_copy *copy, const struct gv_trace_clock *clock)
{
    int64_t twice = 0;
    int error = gv_database_number(copy->job.handle, sql_same_process, NULL, 0, &twice);

    if (!error && twice > 0)
        return -EEXIST;
    if (!error)
        error = count_rows(copy);
    if (!error)
        error = share(copy);
    for (size_t i = 0; i < copy->table_count && !error; i++)
        error = copy_table(copy, clock, copy->tables[i].name);
    return error ? error : gv_database_script(copy->job.handle, sql_copy_meta, NULL, 0);
}

/* ---- the job ---- */

int gv_merge_copy_open(struct gv_merge_copy *copy, const char *path)
{
    int error = gv_database_open_output(&copy->job, path);

    if (!error)
        error = gv_safe_sum_install(copy->job.handle);
    return error ? error
                 : gv_database_each(copy->job.handle, sql_tables, NULL, 0, take_table, copy);
}

int gv_merge_copy_lacks(struct gv_merge_copy *copy, const char *path, int64_t *processes)
{
    sqlite3 *job = copy->job.handle;
    int error = attach(job, path);

    if (error)
        return error;
    error = gv_database_number(job, sql_lacking, NULL, 0, processes);
    return error ? error : gv_database_script(job, "DETACH source", NULL, 0);
}

int gv_merge_copy_trace(struct gv_merge_copy *copy, const char *path,
                        const struct gv_trace_clock *clock)
{
    sqlite3 *job = copy->job.handle;
    int error = attach(job, path);

    if (error)
        return error;
    error = gv_database_begin(&copy->job);
    if (!error)
        error = copy_tables(copy, clock);
    if (!error)
        error = gv_database_commit(&copy->job);
    if (error)
        gv_database_rollback(&copy->job);
    else
        error = gv_database_script(job, "DETACH source", NULL, 0);
    return error;
}
