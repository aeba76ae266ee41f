#include "report/collect/watchdog.h"

#include "report/collect/ingest_state.h"
#include "trace/futex.h"
#include "trace/settings.h"

/* While a call hangs, its rows are at most this old. */
#define GV_WATCHDOG_AGAIN_MS 1000
#define GV_WATCHDOG_LEAST_MS 50

void gv_watchdog_start(struct gv_watchdog *watchdog)
{
    struct gv_settings settings;

    gv_settings_read(&settings, NULL, NULL);
    watchdog->limit_ms = settings.watchdog_ms;
    watchdog->next_ms = 0;
}

static bool watchdog_is_overdue(const struct gv_watchdog *watchdog,
                                const struct gv_spool_reader *reader, uint64_t now_ns)
{
    for (uint32_t i = 0; i < reader->slots_count; i++) {
        struct gv_spool_flight flight;

        if (gv_spool_reader_flight(reader, i, &flight) && flight.start_ns < now_ns &&
            now_ns - flight.start_ns >= (uint64_t)watchdog->limit_ms * 1000000u)
            return true;
    }
    return false;
}

static int watchdog_write(struct gv_drain *drain, struct gv_ingest *ingest, bool overdue)
{
    int error = gv_database_begin(&drain->database);

    if (!error)
        error = overdue ? gv_ingest_flights(ingest) : gv_ingest_flights_clear(ingest);
    if (!error)
        error = gv_drain_commit(drain);
    return error;
}

int gv_watchdog_look(struct gv_watchdog *watchdog, struct gv_drain *drain)
{
    uint64_t now_ns = gv_monotonic_ns();
    int64_t now_ms = (int64_t)(now_ns / 1000000u), step_ms = watchdog->limit_ms / 10;
    bool any = false;
    int error = 0;

    for (size_t i = 0; i < drain->count; i++)
        drain->spools[i]->ingest.seen_ns = now_ns;
    if (watchdog->limit_ms == 0 || !drain->writing || now_ms < watchdog->next_ms)
        return 0;
    for (size_t i = 0; i < drain->count && !error; i++) {
        struct gv_ingest *ingest = &drain->spools[i]->ingest;
        if (!drain->spools[i]->ingesting)
            continue;
        bool overdue = watchdog_is_overdue(watchdog, ingest->reader, now_ns);
        /* The end of a process has stored its unfinished calls: they stay. */
        if (overdue || (ingest->flights_shape && !drain->spools[i]->ended))
            error = watchdog_write(drain, ingest, overdue);
        any |= overdue;
    }
    if (error)
        gv_drain_reopen(drain);
    if (step_ms > GV_WATCHDOG_AGAIN_MS || any)
        step_ms = GV_WATCHDOG_AGAIN_MS;
    watchdog->next_ms = now_ms + (step_ms > GV_WATCHDOG_LEAST_MS ? step_ms : GV_WATCHDOG_LEAST_MS);
    return error;
}
