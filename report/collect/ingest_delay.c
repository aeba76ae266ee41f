/*
 * How long threads waited for a processor inside calls that took long. A program's thread says,
 * after such a call, how long it has waited so far. Two such readings bound what came between them;
 * one that the collector takes while the thread is in the call bounds the rest of it.
 *
 * The collector's are of use inside calls only: what the kernel says of a thread that waits at that
 * moment lacks that wait, and a wait that began before the call would be taken for the call's.
 */
#include "report/collect/ingest.h"

/* How many threads the kernel is asked about in one look. */
#define GV_DELAY_READS 64u

static const struct gv_delay_sight *gv_delay_sight_of(const struct gv_ingest *ingest,
                                                      uint64_t thread, uint64_t call_start_ns)
{
    for (size_t i = 0; i < GV_DELAY_SIGHTS; i++)
        if (ingest->delay_sights[i].thread == thread &&
            ingest->delay_sights[i].call_start_ns == call_start_ns)
            return &ingest->delay_sights[i];
    return NULL;
}

static bool gv_delay_is_in(const struct gv_ingest *ingest, uint32_t slot,
                           const struct gv_spool_flight *call)
{
    struct gv_spool_flight now;

    return gv_spool_reader_flight(ingest->reader, slot, &now) && now.thread == call->thread &&
           now.start_ns == call->start_ns;
}

void gv_ingest_delay_look(struct gv_ingest *ingest, uint32_t pid)
{
    uint32_t reads = 0;

    for (uint32_t i = 0; i < ingest->reader->slots_count && reads < GV_DELAY_READS; i++) {
        struct gv_spool_flight call;
        uint64_t delay_ns;

        if (!gv_spool_reader_flight(ingest->reader, i, &call) ||
            gv_delay_sight_of(ingest, call.thread, call.start_ns))
            continue;
        reads++;
        if (!gv_call_delay_read(pid, call.tid, &delay_ns) || !gv_delay_is_in(ingest, i, &call))
            continue;
        ingest->delay_sights[ingest->delay_sight_next++ % GV_DELAY_SIGHTS] =
            (struct gv_delay_sight){call.thread, call.start_ns, delay_ns};
    }
}

int gv_ingest_delay_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                         const struct gv_record_run_delay *record,
                         const struct gv_record_call *call, int64_t id)
{
    const struct gv_delay_reading now = {record->after_ns, record->before_ns, record->delay_ns};
    const struct gv_delay_reading earlier = thread->delay;
    const struct gv_delay_sight *sight = gv_delay_sight_of(ingest, thread->serial, call->start_ns);
    uint64_t least_ns;

    thread->delay = now;
    /* The call of that reading may have been lost, and this be the next one. */
    if (record->call_start_ns != call->start_ns)
        return 0;
    least_ns = gv_call_delay_least(call->start_ns, call->start_ns + call->duration_ns, &now,
                                   earlier.before_ns ? &earlier : NULL,
                                   sight ? sight->delay_ns : UINT64_MAX);
    if (least_ns == 0)
        return 0;
    return gv_database_run(ingest->database, GV_STATEMENT_CALL_DELAY, "ii", id, (int64_t)least_ns);
}
