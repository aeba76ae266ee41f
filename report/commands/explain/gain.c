#include "report/commands/explain/explain.h"

#include "report/analyse/time_union.h"
#include "report/commands_explain_gain.inc"
#include "report/show/format.h"
#include "report/store/database.h"

/* The thread's next requested wait. */
struct gv_gain_sync {
    int64_t place; /* of the operation that it waited for; 0: there is no such wait */
    int64_t start_ns, end_ns;
    char name[128];
};

static int gain_find_sync(sqlite3 *trace, const struct gv_stall_row *row, struct gv_gain_sync *sync)
{
    const int64_t values[] = {row->thread, gv_time_sum(row->start_ns, row->duration_ns)};
    sqlite3_stmt *found = NULL;
    int result = gv_database_ask(trace, sql_next_wait, values, 2, &found);

    if (result == SQLITE_OK && (result = sqlite3_step(found)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(found, 0);
        snprintf(sync->name, sizeof(sync->name), "%s", name ? name : "a call");
        sync->start_ns = sqlite3_column_int64(found, 1);
        sync->end_ns = gv_time_sum(sync->start_ns, sqlite3_column_int64(found, 2));
        sync->place = sqlite3_column_int64(found, 3);
    }
    sqlite3_finalize(found);
    return gv_database_error(trace, result);
}

/* How long the stream had work from the stall's start to the wait's end; -1: the stall waited
 * for another stream, so that things could have run at the same time. */
static int gain_busy(sqlite3 *trace, const struct gv_stall_row *row,
                     const struct gv_gain_sync *sync, int64_t *busy_ns)
{
    const int64_t values[] = {sync->place, row->start_ns, sync->end_ns, row->waited_for};
    struct gv_time_union busy = {0};
    sqlite3_stmt *rows = NULL;
    bool same = false;
    int result = gv_database_ask(trace, sql_operations, values, 4, &rows);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        gv_time_union_add(&busy, sqlite3_column_int64(rows, 0), sqlite3_column_int64(rows, 1));
        same |= sqlite3_column_int(rows, 2) != 0;
    }
    sqlite3_finalize(rows);
    *busy_ns = same ? busy.sum_ns : -1;
    return gv_database_error(trace, result);
}

/* The call may as well wait for what a synchronisation of its stream, made right after it, must
 * wait for. */
static int gain_next_call(sqlite3 *trace, const struct gv_stall_row *row, bool *syncs,
                          const struct gv_explain_out *to)
{
    const int64_t values[] = {row->call, row->wait_ns / 10};
    sqlite3_stmt *found = NULL;
    char text[512];
    int result = gv_database_ask(trace, sql_next_call, values, 2, &found);

    if (result == SQLITE_OK && (result = sqlite3_step(found)) == SQLITE_ROW &&
        sqlite3_column_int(found, 1)) {
        const char *name = (const char *)sqlite3_column_text(found, 0);
        *syncs = true;
        snprintf(text, sizeof(text),
                 "Little: the thread's next call, %.100s, waits for the same stream anyway.",
                 name ? name : "a synchronisation");
        gv_explain_lines(to, "saves", text);
    }
    sqlite3_finalize(found);
    return gv_database_error(trace, result);
}

int gv_explain_gain(sqlite3 *trace, const struct gv_stall_row *row, const struct gv_explain_out *to)
{
    struct gv_gain_sync sync = {0};
    char text[512], idle[GV_FORMAT_BYTES];
    int64_t busy_ns = -1, idle_ns;
    bool told = false;
    int error = 0;

    if (row->expected || row->waited_for == 0 || row->wait_ns <= 0)
        return 0;
    error = gain_next_call(trace, row, &told, to);
    if (error || told)
        return error;
    error = gain_find_sync(trace, row, &sync);
    if (!error && sync.place)
        error = gain_busy(trace, row, &sync, &busy_ns);
    if (error || busy_ns < 0)
        return error;
    idle_ns = gv_time_difference(gv_time_difference(sync.end_ns, row->start_ns), busy_ns);
    if (idle_ns >= row->wait_ns / 2)
        return 0;
    snprintf(text, sizeof(text),
             "Up to %s: the thread next waits for this stream in %s, %.3f s into the run, and the"
             " stream was idle for only that long until then.",
             gv_format_duration(idle, idle_ns > 0 ? idle_ns : 0), sync.name,
             (double)sync.start_ns / 1e9);
    gv_explain_lines(to, "saves", text);
    return 0;
}
