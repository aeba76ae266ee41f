/*
 * What the first use of the GPU took: starting CUDA, loading code, compiling it. Threads and
 * processes that do so at the same time take that time once.
 */
#include "report/analyse/totals/run.h"

#include "report/analyse/time_union.h"
#include "report/store/database.h"

#define GV_PART(process, thread, start)                                                            \
    "(?1 = 0 OR " process " = ?1) AND (?2 = 0 OR " thread " = ?2) AND " start " >= ?3 AND " start  \
    " < ?4"

/* When each began, and how long it took and waited for the GPU; several loads in a call are one. */
#define GV_FIRST_USE_LOADS                                                                         \
    "SELECT 1 AS loads, min(l.start_ns) AS start_ns, max(l.duration_ns) AS duration_ns,"           \
    " max(coalesce(w.wait_ns, 0)) AS wait_ns FROM load l LEFT JOIN load_wait w ON w.load = l.id"   \
    " LEFT JOIN thread t ON t.id = l.thread WHERE l.result = 0 AND " GV_PART(                      \
        "t.process", "l.thread",                                                                   \
        "l.start_ns") " GROUP BY coalesce(l.call, -l.id) UNION ALL SELECT 1, min(c.start_ns),"     \
                      " max(c.duration_ns), max(coalesce(w.wait_ns, 0)) FROM gpu_module m JOIN"    \
                      " call c ON c.id = m.call LEFT JOIN load_wait w ON w.load = -m.id WHERE"     \
                      " m.call NOT IN (SELECT call FROM load WHERE call IS NOT NULL) "             \
                      "AND " GV_PART("m.process", "c.thread", "c.start_ns") " GROUP BY m.call"

/* The calls that start CUDA lie between the first and the last of them. */
#define GV_FIRST_USE_STARTS                                                                        \
    "SELECT 0, c.start_ns, c.duration_ns, 0 FROM call c LEFT JOIN thread t ON t.id = c.thread"     \
    " WHERE c.id BETWEEN ?5 AND ?6 AND c.api IN (SELECT id FROM api"                               \
    " WHERE starts_cuda) AND " GV_PART("t.process", "c.thread", "c.start_ns")

static const char gv_first_use_sql[] =
    "SELECT loads, start_ns, duration_ns, wait_ns FROM (" GV_FIRST_USE_LOADS
    " UNION ALL " GV_FIRST_USE_STARTS ") ORDER BY start_ns + max(wait_ns, 0)";

static const char gv_first_use_jits_sql[] =
    "SELECT 1, start_ns, duration_ns, 0 FROM jit WHERE (?1 = 0 OR process = ?1) AND start_ns >= ?3"
    " AND start_ns < ?4 ORDER BY start_ns";

struct gv_first_use {
    struct gv_time_union starting, loading, all;
    int64_t loads;
};

/* What is waited for comes first in a call, its own work last. */
static void gv_first_use_take(struct gv_first_use *use, sqlite3_stmt *row)
{
    int64_t start_ns = gv_totals_ns(row, 1), wait_ns = gv_totals_ns(row, 3);
    int64_t own_ns = start_ns + (wait_ns > 0 ? wait_ns : 0);
    int64_t end_ns = gv_totals_end(row, 2, start_ns);
    bool loads = sqlite3_column_int(row, 0) != 0;

    use->loads += loads;
    gv_time_union_add(loads ? &use->loading : &use->starting, own_ns, end_ns);
    gv_time_union_add(&use->all, own_ns, end_ns);
}

static int gv_first_use_read(struct gv_totals_run *run, const char *sql, struct gv_first_use *use)
{
    const int64_t values[] = {run->part.process, run->part.thread,    run->part.from_ns,
                              run->part.to_ns,   run->first_starting, run->last_starting};
    sqlite3_stmt *rows = NULL;
    int result = gv_database_ask(run->trace, sql, values, 6, &rows);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW)
        gv_first_use_take(use, rows);
    sqlite3_finalize(rows);
    return gv_database_error(run->trace, result);
}

int gv_totals_first_use(struct gv_totals_run *run)
{
    struct gv_first_use use = {0}, compiling = {0};
    int error = gv_first_use_read(run, gv_first_use_sql, &use);

    if (!error)
        error = gv_first_use_read(run, gv_first_use_jits_sql, &compiling);
    run->start_ns = use.starting.sum_ns;
    run->loads = use.loads;
    run->loading_ns = use.loading.sum_ns;
    run->first_use_ns = use.all.sum_ns;
    run->compiling_ns = compiling.all.sum_ns;
    return error;
}
