/* Sums of a trace's oldest minutes. */
#include "report/collect/keep.h"

#include "report/analyse/ledger/analysis.h"
#include "report/analyse/names/places.h"
#include "report/analyse/stalls/analysis.h"
#include "report/collect/stack_names.h"
#include "report/collect_keep_fold.inc"
#include "report/store/database.h"
#include "report/store/schema.h"
#include "trace/call_table.h"

#include <errno.h>

/* Rows that are read at a time, while the trace is locked: some 20 ms. */
#define GV_KEEP_WINDOW  65536
#define GV_KEEP_BUSY_MS 10000

static const char copy_whole_sql[] =
#define GV_SCHEMA_KEPT_WHOLE(table) "INSERT INTO main." #table " SELECT * FROM trace." #table ";"
#include "report/store_schema_columns.inc"
    ;
static const char copy_with_calls_sql[] =
#define GV_SCHEMA_KEPT_WITH_CALL(table)                                                            \
    "INSERT INTO main." #table " SELECT * FROM trace." #table " c"                                 \
    " WHERE call BETWEEN ?1 AND ?2 AND EXISTS (SELECT 1 FROM main.call WHERE id = c.call);"
#include "report/store_schema_columns.inc"
    ;

static int attach(sqlite3 *piece, const char *path, const char *name)
{
    char *sql = sqlite3_mprintf("ATTACH %Q AS %s", path, name);
    int error = sql ? gv_database_script(piece, sql, NULL, 0) : -ENOMEM;

    sqlite3_free(sql);
    return error;
}

static int open_piece(struct gv_database *piece, const char *trace, const char *result)
{
    /* Without a name: a temporary file. */
    int error = gv_database_error(
        NULL,
        sqlite3_open_v2("", &piece->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));

    if (error)
        return error;
    sqlite3_busy_timeout(piece->handle, GV_KEEP_BUSY_MS);
    error = gv_database_distrust(piece->handle);
    if (!error)
        error = gv_database_script(piece->handle, sql_open_piece, NULL, 0);
    if (!error)
        error = gv_database_script(piece->handle, gv_schema_sql, NULL, 0);
    if (!error)
        error = attach(piece->handle, trace, "trace");
    if (!error)
        error = attach(piece->handle, result, "result");
    return error ? error : gv_database_script(piece->handle, sql_open_result, NULL, 0);
}

/* By rows, whose order is nearly that of time. */
static int copy_windows(sqlite3 *piece, const char *next, const char *copy, const char *with,
                        int64_t end, int64_t until_ns)
{
    int64_t range[] = {1, end}, first = 0;
    int error;

    while (!(error = gv_database_number(piece, next, range, 2, &first)) && first > 0) {
        const int64_t values[] = {first, first + GV_KEEP_WINDOW - 1, until_ns};
        error = gv_database_script(piece, copy, values, 3);
        if (!error)
            error = gv_database_script(piece, with, values, 3);
        if (error)
            break;
        range[0] = first + GV_KEEP_WINDOW;
    }
    return error;
}

static int add_followed(void *piece, sqlite3_stmt *row)
{
    const int64_t api = sqlite3_column_int64(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    const char *class_name = (const char *)sqlite3_column_text(row, 2);

    return gv_call_kinds[gv_call_kind_find(name ? name : "", class_name ? class_name : "")].skipped
               ? 0
               : gv_database_script(piece, "INSERT INTO temp.followed VALUES (?)", &api, 1);
}

static int find_followed(sqlite3 *piece)
{
    int error =
        gv_database_script(piece, "CREATE TEMP TABLE followed (api INTEGER PRIMARY KEY)", NULL, 0);

    return error ? error
                 : gv_database_each(piece, "SELECT id, name, class FROM main.api", NULL, 0,
                                    add_followed, piece);
}

/* An idle time that goes on in another fold is cut: of short ones, which are stored together, that
 * could not be done later. */
static int analyse(struct gv_database *database, const struct gv_keep_piece *piece)
{
    const struct gv_totals_part part = {
        .device = -1, .from_ns = piece->from_ns, .to_ns = piece->until_ns};
    struct gv_pass *pass = NULL;
    int error = gv_stack_names_find(database);

    if (!error)
        error = gv_places_of_stacks(database->handle, sql_stack_calls);
    if (!error)
        error = gv_pass_open(&pass, database->handle, 0);
    if (!error)
        error = gv_stalls_analyse(database->handle, gv_stalls_threshold_ns(), pass);
    if (!error)
        error = gv_ledger_minutes_make(database->handle, &part, pass);
    gv_pass_close(pass);
    return error;
}

static int copy_piece(sqlite3 *main, const struct gv_keep_piece *piece, int64_t end_ns)
{
    int error = copy_windows(main, sql_calls_next, sql_copy_calls, copy_with_calls_sql,
                             piece->next_call, end_ns);

    if (!error)
        error = copy_windows(main, sql_ops_next, sql_copy_ops, "", INT64_MAX, end_ns);
    if (!error)
        error = gv_database_script(main, sql_copy_others, &end_ns, 1);
    return error ? error : gv_database_script(main, copy_whole_sql, NULL, 0);
}

int gv_keep_fold(const char *trace, const char *result, const struct gv_keep_piece *piece)
{
    const int64_t values[] = {piece->from_ns, piece->until_ns, piece->from_call, GV_KEEP_MARGIN_NS,
                              piece->older_most};
    const int count = sizeof(values) / sizeof(values[0]);
    const int64_t end_ns = piece->until_ns + GV_KEEP_MARGIN_NS;
    const char *const last[] = {sql_find_stay, sql_cut, sql_sum};
    struct gv_database database = {0};
    int error = open_piece(&database, trace, result);

    if (!error)
        error = copy_piece(database.handle, piece, end_ns);
    if (!error)
        error = find_followed(database.handle);
    if (!error)
        error = gv_database_script(database.handle, sql_leave_trace, values, count);
    if (!error)
        error = gv_database_script(database.handle, sql_begin_piece, &end_ns, 1);
    if (!error)
        error = analyse(&database, piece);
    for (size_t i = 0; i < sizeof(last) / sizeof(last[0]) && !error; i++)
        error = gv_database_script(database.handle, last[i], values, count);
    gv_database_close(&database);
    return error;
}
