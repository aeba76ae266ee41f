/*
 * Makes medians exact. The sums of a finished trace are stored, so it pays to read its calls and
 * operations a second time: durations near the median are counted one by one.
 */
#include "report/analyse/totals/run.h"

#include "report/analyse_totals_totals.inc"
#include "report/store/database.h"

static int medians_call(void *context, sqlite3_stmt *row)
{
    struct gv_totals_run *run = context;
    int64_t api = sqlite3_column_int64(row, 0), count = sqlite3_column_int64(row, 2);

    if (api <= 0 || (uint64_t)api >= run->apis.rows ||
        gv_stopped_has(&run->stopped,
                       gv_id_table_get(&run->threads, sqlite3_column_int64(row, 3), 0),
                       gv_time_column(row, 4)))
        return 0;
    if (count < 1)
        count = 1;
    return gv_duration_total_again(&run->api_sums[api].time,
                                   gv_time_column_duration(row, 1) / count, count);
}

static int medians_operation(void *context, sqlite3_stmt *row)
{
    struct gv_totals_run *run = context;
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

int gv_totals_medians(struct gv_totals_run *run)
{
    for (size_t i = 1; i < run->apis.rows; i++)
        gv_duration_total_reread(&run->api_sums[i].time);
    for (size_t i = 0; i < run->kernel_count; i++)
        gv_duration_total_reread(&run->kernels[i].time);
    for (size_t i = 0; i < GV_TOTALS_COPY_KINDS; i++)
        gv_duration_total_reread(&run->copies[i]);
    for (size_t i = 0; i < GV_TOTALS_DIRECTIONS; i++)
        gv_duration_total_reread(&run->directions[i]);
    gv_duration_total_reread(&run->sets);
    int error = gv_database_each(run->trace, sql_call_durations, NULL, 0, medians_call, run);
    return error ? error
                 : gv_database_each(run->trace, sql_op_durations, NULL, 0, medians_operation, run);
}
