/* Counts allocations that failed for want of memory, and the threads that never got theirs. */
#include "report/analyse/totals/run.h"

/* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */
#define GV_OUT_OF_MEMORY 2

void gv_totals_memory_refused(struct gv_totals_run *run, const struct gv_pass_call *call)
{
    int64_t space = gv_id_table_get(&run->memory, call->api, 0);
    bool failed = call->result == GV_OUT_OF_MEMORY;

    if ((call->result != 0 && !failed) || space < GV_MEMORY_DEVICE || space > GV_MEMORY_PHYSICAL ||
        !call->thread || call->thread >= run->threads.rows)
        return;
    struct gv_totals_thread *now = &run->thread_times[call->thread];
    if (failed && call->bytes >= now->refused_bytes) {
        now->refused_api = call->api;
        now->refused_bytes = call->bytes;
    } else if (!failed && call->api == now->refused_api && call->bytes >= now->refused_bytes)
        now->refused_api = now->refused_bytes = 0;
    if (failed) {
        run->refused++;
        run->refused_call = call->key.id;
    }
}

int64_t gv_totals_memory_still_refused(const struct gv_totals_run *run)
{
    int64_t count = 0;

    for (size_t i = 0; i < run->threads.rows; i++)
        count += run->thread_times[i].refused_api != 0;
    return count;
}
