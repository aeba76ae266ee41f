/*
 * Sums up the costs of the first use of the GPU: starting CUDA, loading code, compiling.
 * Simultaneous time of threads and processes counts once.
 */
#include "report/analyse/totals/run.h"

#include "report/analyse/time_union.h"
#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

struct gv_first_use {
    struct gv_time_union starting, loading;
    int64_t loads;
};

/* A call's wait comes first, its own work last. */
static int first_use_take(void *context, sqlite3_stmt *row)
{
    struct gv_first_use *use = context;
    int64_t start_ns = gv_time_column(row, 1), wait_ns = gv_time_column(row, 3);
    int64_t own_ns = start_ns + (wait_ns > 0 ? wait_ns : 0);
    int64_t end_ns = start_ns + gv_time_column_duration(row, 2);
    bool loads = sqlite3_column_int(row, 0) != 0;

    use->loads += loads;
    gv_time_union_add(loads ? &use->loading : &use->starting, own_ns, end_ns);
    return 0;
}

static int first_use_read(struct gv_totals_run *run, const char *sql, struct gv_first_use *use)
{
    const int64_t values[] = {run->part.process, run->part.thread,    run->part.from_ns,
                              run->part.to_ns,   run->first_starting, run->last_starting};

    return gv_database_each(run->trace, sql, values, 6, first_use_take, use);
}

int gv_totals_first_use(struct gv_totals_run *run)
{
    struct gv_first_use use = {0}, compiling = {0};
    int error = first_use_read(run, sql_first_use, &use);

    if (!error)
        error = first_use_read(run, sql_first_use_jits, &compiling);
    run->start_ns = use.starting.sum_ns;
    run->loads = use.loads;
    run->loading_ns = use.loading.sum_ns;
    run->compiling_ns = compiling.loading.sum_ns;
    return error;
}
