/* Subtracts known waits from the time in which threads copied and launched, because waits are
 * reported separately. */
#include "report/analyse/totals/run.h"

#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

static void gv_totals_wait(struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64(row, 0);
    int64_t api = sqlite3_column_int64(row, 1);
    int64_t wait_ns = gv_totals_ns(row, 2);
    enum gv_totals_class class = (enum gv_totals_class)gv_id_table_get(&run->apis, api, 0);
    struct gv_totals_thread *thread;
    int64_t *taken_ns;

    if (id <= 0 || (uint64_t)id >= run->threads.rows || wait_ns <= 0)
        return;
    thread = &run->thread_times[id];
    taken_ns = class == GV_TOTALS_COPY     ? &thread->copy_ns
               : class == GV_TOTALS_LAUNCH ? &thread->launch_ns
                                           : NULL;
    if (taken_ns)
        *taken_ns = *taken_ns > wait_ns ? *taken_ns - wait_ns : 0;
}

int gv_totals_waits(struct gv_totals_run *run)
{
    const struct gv_totals_part *part = &run->part;
    const int64_t values[] = {part->process, part->thread, part->from_ns, part->to_ns};
    sqlite3_stmt *rows = NULL;
    int result = gv_database_ask(run->trace, sql_waits, values, 4, &rows);

    while ((result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW)
        gv_totals_wait(run, rows);
    sqlite3_finalize(rows);
    return gv_database_error(run->trace, result);
}
