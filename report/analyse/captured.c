#include "report/analyse/captured.h"

#include "report/store/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define GV_CAPTURED_SQL_BYTES 2048

/* %1 is the process. Captures of several streams at a time are rare: who waits joins the last. An
 * attempt to end a capture that left it on (905: from another thread) is none; 901 and 904 end it.
 */
static const char gv_captured_sql[] =
    "DROP TABLE IF EXISTS temp.capture;"
    /* Integers by declaration: an index is of no use for comparing a column that has no type. */
    "CREATE TEMP TABLE capture (stream INTEGER, start_ns INTEGER, end_ns INTEGER);"
    "INSERT INTO temp.capture SELECT stream, CASE WHEN begins THEN start_ns ELSE"
    " -9223372036854775807 END AS start_ns, CASE WHEN begins THEN next_ns ELSE end_ns END AS end_ns"
    " FROM (SELECT stream, start_ns, end_ns, begins, lead(end_ns, 1, 9223372036854775807) OVER"
    " marks AS next_ns, lag(begins, 1, 0) OVER marks AS begun FROM (SELECT c.stream AS stream,"
    " c.start_ns AS start_ns, c.start_ns + c.duration_ns AS end_ns, a.begins_capture"
    " AS begins, coalesce(c.result, 0) AS result FROM call c JOIN api a ON a.id = c.api JOIN thread"
    " t ON t.id = c.thread WHERE t.process = %1$lld AND c.stream IS NOT NULL AND c.api IN (SELECT"
    " id FROM api WHERE begins_capture OR ends_capture)) WHERE result = 0 OR NOT begins AND result "
    "IN (901, 904)"
    " WINDOW marks AS (PARTITION BY stream ORDER BY start_ns)) WHERE begins OR NOT begun;"
    "CREATE INDEX temp.capture_started ON capture (start_ns);"
    "INSERT INTO temp.capture SELECT stream, start_ns, end_ns FROM (SELECT c.stream AS stream,"
    " c.start_ns AS start_ns, (SELECT k.end_ns FROM temp.capture k WHERE k.start_ns <= c.start_ns"
    " ORDER BY k.start_ns DESC LIMIT 1) AS end_ns FROM call c JOIN thread t ON t.id = c.thread"
    " WHERE EXISTS (SELECT 1 FROM temp.capture) AND t.process = %1$lld AND c.stream IS NOT NULL"
    " AND c.result = 0 AND c.api IN (SELECT id FROM api WHERE awaits_event))"
    " WHERE end_ns >= start_ns;"
    "CREATE INDEX temp.capture_stream ON capture (stream, start_ns);";

static int gv_captured_execute(sqlite3 *trace, const char *sql)
{
    return gv_database_error(trace, sqlite3_exec(trace, sql, NULL, NULL, NULL));
}

int gv_captured_open(sqlite3 *trace, int64_t process)
{
    char sql[GV_CAPTURED_SQL_BYTES];
    int length = snprintf(sql, sizeof(sql), gv_captured_sql, (long long)process);

    if (length < 0 || (size_t)length >= sizeof(sql))
        return -EINVAL;
    return gv_captured_execute(trace, sql);
}

int gv_captured_close(sqlite3 *trace)
{
    return gv_captured_execute(trace, "DROP TABLE IF EXISTS temp.capture");
}

/* In the order of their start. */
static int gv_captured_add(struct gv_captured_times *times, struct gv_captured_time time)
{
    struct gv_captured_time *last = times->count ? &times->list[times->count - 1] : NULL;

    if (last && time.start_ns <= last->end_ns) {
        if (time.end_ns > last->end_ns)
            last->end_ns = time.end_ns;
        return 0;
    }
    if ((times->count & (times->count - 1)) == 0) { /* twice the room at each power of two */
        size_t room = times->count ? 2 * times->count : 1;
        void *larger = realloc(times->list, room * sizeof(*times->list));
        if (!larger)
            return -ENOMEM;
        times->list = larger;
    }
    times->list[times->count++] = time;
    return 0;
}

int gv_captured_times_read(struct gv_captured_times *times, sqlite3 *trace)
{
    sqlite3_stmt *rows = NULL;
    int error = 0;
    int result = sqlite3_prepare_v2(
        trace, "SELECT start_ns, end_ns FROM temp.capture ORDER BY start_ns", -1, &rows, NULL);

    while (result == SQLITE_OK && !error) {
        int step = sqlite3_step(rows);
        if (step == SQLITE_ROW)
            error = gv_captured_add(
                times, (struct gv_captured_time){.start_ns = sqlite3_column_int64(rows, 0),
                                                 .end_ns = sqlite3_column_int64(rows, 1)});
        else
            result = step;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(trace, result);
}

void gv_captured_times_free(struct gv_captured_times *times)
{
    free(times->list);
    *times = (struct gv_captured_times){0};
}

bool gv_captured_times_meet(const struct gv_captured_times *times, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = times->count; /* the first one that ends at start_ns or later */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (times->list[middle].end_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < times->count && times->list[low].start_ns <= end_ns;
}
