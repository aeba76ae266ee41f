/*
 * What the first use of the GPU took: starting CUDA, loading code, compiling it. Threads and
 * processes that do so at the same time take that time once.
 */
#include "report/totals_run.h"

#include "report/time_sum.h"
#include "trace/database.h"

#define GV_PART(process, thread, start)                                                            \
    "(?1 = 0 OR " process " = ?1) AND (?2 = 0 OR " thread " = ?2) AND " start " >= ?3 AND " start  \
    " < ?4"

/* When each began, and how long it took and waited for the GPU; several loads in a call are one. */
static const char gv_first_use_loads_sql[] =
    "SELECT min(l.start_ns), max(l.duration_ns), max(coalesce(w.wait_ns, 0)) FROM load l"
    " LEFT JOIN load_wait w ON w.load = l.id LEFT JOIN thread t ON t.id = l.thread"
    " WHERE l.result = 0 AND " GV_PART(
        "t.process", "l.thread",
        "l.start_ns") " GROUP BY coalesce(l.call, -l.id)"
                      " UNION ALL SELECT min(c.start_ns), max(c.duration_ns), "
                      "max(coalesce(w.wait_ns, 0))"
                      " FROM gpu_module m JOIN call c ON c.id = m.call LEFT JOIN load_wait w ON "
                      "w.load = -m.id"
                      " WHERE m.call NOT IN (SELECT call FROM load WHERE call IS NOT NULL) "
                      "AND " GV_PART("m.process", "c.thread", "c.start_ns") " GROUP BY m.call";

static const char gv_first_use_jits_sql[] =
    "SELECT start_ns, duration_ns, 0 FROM jit WHERE (?1 = 0 OR process = ?1) AND start_ns >= ?3"
    " AND start_ns < ?4";

/* What is waited for comes first in a call, its own work last. */
static int gv_first_use_read(struct gv_totals_run *run, const char *sql, struct gv_time_union *all,
                             int64_t *count)
{
    const int64_t values[] = {run->part.process, run->part.thread, run->part.from_ns,
                              run->part.to_ns};
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(run->trace, sql, -1, &rows, NULL), error = 0;

    for (int i = 1; result == SQLITE_OK && i <= sqlite3_bind_parameter_count(rows); i++)
        sqlite3_bind_int64(rows, i, values[i - 1]);
    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW) {
        int64_t start_ns = gv_totals_ns(rows, 0), wait_ns = gv_totals_ns(rows, 2);
        error = gv_time_union_add(all, start_ns + (wait_ns > 0 ? wait_ns : 0),
                                  gv_totals_end(rows, 1, start_ns));
        *count += 1;
    }
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(run->trace, result);
}

int gv_totals_first_use(struct gv_totals_run *run)
{
    struct gv_time_union loading = {0}, compiling = {0};
    int64_t jits = 0;
    int error = gv_first_use_read(run, gv_first_use_loads_sql, &loading, &run->loads);

    if (!error)
        error = gv_first_use_read(run, gv_first_use_jits_sql, &compiling, &jits);
    if (!error) {
        run->start_ns = gv_time_union_ns(&run->starting);
        run->loading_ns = gv_time_union_ns(&loading);
        run->compiling_ns = gv_time_union_ns(&compiling);
        error = gv_time_union_add_all(&run->starting, &loading);
    }
    if (!error)
        run->first_use_ns = gv_time_union_ns(&run->starting);
    gv_time_union_free(&loading);
    gv_time_union_free(&compiling);
    return error;
}
