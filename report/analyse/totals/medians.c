/*
 * Makes medians exact. The sums of a finished trace are stored, so it pays to read its calls and
 * operations a second time: durations near the median are counted one by one.
 */
#include "report/analyse/totals/run.h"

#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

typedef int gv_medians_take(struct gv_totals_run *run, sqlite3_stmt *row);

static int medians_call(struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t api = sqlite3_column_int64(row, 0), count = sqlite3_column_int64(row, 2);

    if (api <= 0 || (uint64_t)api >= run->apis.rows)
        return 0;
    if (count < 1)
        count = 1;
    return gv_duration_total_again(&run->api_times[api], gv_time_column_duration(row, 1) / count,
                                   count);
}

static int medians_operation(struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t kind = sqlite3_column_int64(row, 0), duration_ns = gv_time_column_duration(row, 1);
    size_t which = gv_totals_copy_kind(sqlite3_column_int64(row, 3));

    if (kind == GV_GPU_KERNEL)
        return gv_duration_total_again(
            &gv_totals_kernel_of(run, sqlite3_column_int64(row, 2))->time, duration_ns, 1);
    if (kind == GV_GPU_SET)
        return gv_duration_total_again(&run->sets, duration_ns, 1);
    if (kind != GV_GPU_COPY)
        return 0;
    int error = gv_duration_total_again(&run->copies[which], duration_ns, 1);
    return error ? error
                 : gv_duration_total_again(&run->directions[which % GV_TOTALS_DIRECTIONS],
                                           duration_ns, 1);
}

static int medians_read(struct gv_totals_run *run, const char *sql, gv_medians_take *take)
{
    sqlite3_stmt *rows = NULL;
    int error = 0, result = sqlite3_prepare_v2(run->trace, sql, -1, &rows, NULL);

    while (!error && (result == SQLITE_OK || result == SQLITE_ROW) &&
           (result = sqlite3_step(rows)) == SQLITE_ROW)
        error = take(run, rows);
    sqlite3_finalize(rows);
    return error ? error : gv_database_error(run->trace, result);
}

int gv_totals_medians(struct gv_totals_run *run)
{
    for (size_t i = 1; i < run->apis.rows; i++)
        gv_duration_total_reread(&run->api_times[i]);
    for (size_t i = 0; i < run->kernel_count; i++)
        gv_duration_total_reread(&run->kernels[i].time);
    for (size_t i = 0; i < GV_TOTALS_COPY_KINDS; i++)
        gv_duration_total_reread(&run->copies[i]);
    for (size_t i = 0; i < GV_TOTALS_DIRECTIONS; i++)
        gv_duration_total_reread(&run->directions[i]);
    gv_duration_total_reread(&run->sets);
    int error = medians_read(run, sql_call_durations, medians_call);
    return error ? error : medians_read(run, sql_op_durations, medians_operation);
}
