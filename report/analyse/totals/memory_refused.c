/* Counts allocations that failed for want of memory, and the threads that never got theirs. */
#include "report/analyse/totals/run.h"

/* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */
#define GV_OUT_OF_MEMORY 2

void gv_totals_memory_refused(struct gv_totals_run *run, sqlite3_stmt *row)
{
    int64_t thread = sqlite3_column_int64(row, GV_TOTALS_CALL_THREAD);
    int64_t api = sqlite3_column_int64(row, GV_TOTALS_CALL_API);
    int64_t bytes = sqlite3_column_int64(row, GV_TOTALS_CALL_BYTES);
    int64_t result = sqlite3_column_int64(row, GV_TOTALS_CALL_RESULT);
    int64_t space = gv_id_table_get(&run->memory, api, 0);
    bool failed = result == GV_OUT_OF_MEMORY;

    if ((result != 0 && !failed) || space < GV_MEMORY_DEVICE || space > GV_MEMORY_PHYSICAL ||
        thread <= 0 || (uint64_t)thread >= run->threads.rows)
        return;
    struct gv_totals_thread *now = &run->thread_times[thread];
    if (failed && bytes >= now->refused_bytes) {
        now->refused_api = api;
        now->refused_bytes = bytes;
    } else if (!failed && api == now->refused_api && bytes >= now->refused_bytes)
        now->refused_api = now->refused_bytes = 0;
    if (failed) {
        run->refused++;
        run->refused_call = sqlite3_column_int64(row, GV_TOTALS_CALL_ID);
    }
}

int64_t gv_totals_memory_still_refused(const struct gv_totals_run *run)
{
    int64_t count = 0;

    for (size_t i = 0; i < run->threads.rows; i++)
        count += run->thread_times[i].refused_api != 0;
    return count;
}
