/*
 * How long threads waited for a CPU inside slow calls. A program's thread reports after such a call
 * how long it has waited so far. Two such readings bound the time between them. A reading by the
 * collector during the call bounds the rest of it.
 *
 * The collector's readings are useful only inside calls: a thread that waits at that moment has not
 * been counted yet, and a wait that began before the call would be attributed to the call.
 */
#include "report/collect/ingest_state.h"

#include "trace/schedstat.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>

/* Subtracts everything that may be outside of the call. */
static uint64_t delay_less(uint64_t delay_ns, uint64_t other_ns)
{
    return delay_ns > other_ns ? delay_ns - other_ns : 0;
}

uint64_t gv_ingest_delay_least(uint64_t start_ns, uint64_t end_ns,
                               const struct gv_delay_reading *end,
                               const struct gv_delay_reading *earlier, uint64_t inside_ns)
{
    uint64_t behind_ns = end->before_ns - end_ns, least_ns = 0;

    if (end_ns < start_ns || end->before_ns < end_ns)
        return 0;
    if (inside_ns <= end->delay_ns)
        least_ns = delay_less(end->delay_ns - inside_ns, behind_ns);
    if (earlier && earlier->after_ns <= start_ns && earlier->delay_ns <= end->delay_ns) {
        uint64_t before_ns = start_ns - earlier->after_ns;
        uint64_t since_ns =
            delay_less(delay_less(end->delay_ns - earlier->delay_ns, behind_ns), before_ns);
        least_ns = since_ns > least_ns ? since_ns : least_ns;
    }
    /* The Linux kernel's clock and ours may differ slightly. */
    return least_ns < end_ns - start_ns ? least_ns : end_ns - start_ns;
}

/* For a thread of another process. False: the Linux kernel does not report it. */
static bool read_delay(uint32_t pid, uint32_t tid, uint64_t *delay_ns)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && gv_schedstat_read(fd, delay_ns);
}

/* Threads to ask the Linux kernel about in one look. */
#define GV_DELAY_READS 64u

static const struct gv_delay_sight *delay_sight_of(const struct gv_ingest *ingest, uint64_t thread,
                                                   uint64_t call_start_ns)
{
    for (size_t i = 0; i < GV_DELAY_SIGHTS; i++)
        if (ingest->delay_sights[i].thread == thread &&
            ingest->delay_sights[i].call_start_ns == call_start_ns)
            return &ingest->delay_sights[i];
    return NULL;
}

static bool delay_is_in(const struct gv_ingest *ingest, uint32_t slot,
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
            delay_sight_of(ingest, call.thread, call.start_ns))
            continue;
        reads++;
        if (!read_delay(pid, call.tid, &delay_ns) || !delay_is_in(ingest, i, &call))
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
    const struct gv_delay_sight *sight = delay_sight_of(ingest, thread->serial, call->start_ns);
    uint64_t least_ns;

    thread->delay = now;
    /* The call of that reading may be lost, and this may be the next one. */
    if (record->call_start_ns != call->start_ns)
        return 0;
    least_ns = gv_ingest_delay_least(call->start_ns, call->start_ns + call->duration_ns, &now,
                                     earlier.before_ns ? &earlier : NULL,
                                     sight ? sight->delay_ns : UINT64_MAX);
    if (least_ns == 0)
        return 0;
    return GV_ADD(ingest->database, call_delay, .call = id, .delay_ns = (int64_t)least_ns);
}
