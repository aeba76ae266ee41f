#include "report/captured.h"

#include "trace/database.h"

#include <errno.h>
#include <stdio.h>

#define GV_CAPTURED_SQL_BYTES 2048

/* %1 is the process. Captures of several streams at a time are rare: who waits joins the last. */
static const char gv_captured_sql[] =
    "DROP TABLE IF EXISTS temp.capture;"
    "CREATE TEMP TABLE capture AS SELECT stream, start_ns, end_ns FROM (SELECT c.stream AS stream,"
    " c.start_ns AS start_ns, lead(c.start_ns, 1, 9223372036854775807) OVER"
    " (PARTITION BY c.stream ORDER BY c.start_ns) AS end_ns, a.name LIKE '%%BeginCapture%%' AS"
    " begins FROM call c JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread"
    " WHERE t.process = %1$lld AND c.stream IS NOT NULL AND c.api IN (SELECT id FROM api WHERE name"
    " LIKE 'cu%%StreamBeginCapture%%' OR name LIKE 'cu%%StreamEndCapture%%')) WHERE begins;"
    "CREATE INDEX temp.capture_started ON capture (start_ns);"
    "INSERT INTO temp.capture SELECT stream, start_ns, end_ns FROM (SELECT c.stream AS stream,"
    " c.start_ns AS start_ns, (SELECT k.end_ns FROM temp.capture k WHERE k.start_ns <= c.start_ns"
    " ORDER BY k.start_ns DESC LIMIT 1) AS end_ns FROM call c JOIN thread t ON t.id = c.thread"
    " WHERE EXISTS (SELECT 1 FROM temp.capture) AND t.process = %1$lld AND c.stream IS NOT NULL"
    " AND c.result = 0 AND c.api IN (SELECT id FROM api WHERE name LIKE 'cu%%StreamWaitEvent%%'))"
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
