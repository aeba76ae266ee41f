#include "report/collect/ingest.h"

#include "report/analyse/stalls/in_flight.h"
#include "trace/text.h"

#include <stdio.h>
#include <string.h>

static int gv_ingest_loss(struct gv_ingest *ingest, const char *what, const char *class_name,
                          uint64_t count, uint64_t stored)
{
    if (count == stored && (ingest->status_stored || count == 0))
        return 0;
    return gv_database_run(ingest->database, GV_STATEMENT_LOSS_SET, "itti", ingest->process, what,
                           class_name, (int64_t)count);
}

static int gv_ingest_lost_calls(struct gv_ingest *ingest, const struct gv_spool_status *now)
{
    int error = 0;

    for (uint32_t i = 0; i < GV_SPOOL_CLASSES && !error; i++) {
        char class_name[16], text[GV_TEXT_REPAIRED_BYTES(16)];

        if (!gv_spool_reader_class(ingest->reader, i, class_name))
            snprintf(class_name, sizeof(class_name), "class %u", i);
        gv_text_repair(text, sizeof(text), class_name, sizeof(class_name));
        error =
            gv_ingest_loss(ingest, "call", text, now->lost_calls[i], ingest->status.lost_calls[i]);
    }
    return error;
}

int gv_ingest_status(struct gv_ingest *ingest)
{
    struct gv_spool_status now;
    int error = 0;

    gv_spool_reader_status(ingest->reader, &now);
    if (now.driver_version && now.driver_version != ingest->status.driver_version)
        error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_DRIVER, "ii",
                                ingest->process, (int64_t)now.driver_version);
    if (!error)
        error = gv_ingest_gpu_status(ingest, &now);
    if (!error)
        error = gv_ingest_loss(ingest, "GPU record", "dropped by CUPTI", now.gpu_dropped,
                               ingest->status.gpu_dropped);
    if (!error)
        error = gv_ingest_loss(ingest, "GPU record", "", now.gpu_lost, ingest->status.gpu_lost);
    if (!error)
        error = gv_ingest_lost_calls(ingest, &now);
    if (!error)
        error = gv_ingest_loss(ingest, "name", "", now.lost_names, ingest->status.lost_names);
    if (!error)
        error = gv_ingest_loss(ingest, "load", "", now.lost_loads, ingest->status.lost_loads);
    if (!error)
        error = gv_ingest_loss(ingest, "thread", "", now.lost_threads, ingest->status.lost_threads);
    if (!error)
        error = gv_ingest_loss(ingest, "Python stack", "", now.lost_python_stacks,
                               ingest->status.lost_python_stacks);
    ingest->status = now;
    ingest->status_stored = !error;
    return error;
}

static int gv_ingest_flight(struct gv_ingest *ingest, const struct gv_spool_flight *flight)
{
    char name[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_COMM_BYTES)];
    int64_t api, kernel = 0;
    /* The process may have been looked at for the last time before the call began. */
    bool seen = ingest->seen_ns > flight->start_ns;
    int64_t seen_ns = seen ? gv_ingest_time(ingest, ingest->seen_ns) : 0;
    int error = gv_ingest_intern_api(ingest, flight->api, &api);

    gv_text_repair(name, sizeof(name), flight->comm, sizeof(flight->comm));
    if (!error && flight->detail <= UINT32_MAX)
        error = gv_ingest_intern_kernel(ingest, (uint32_t)flight->detail, &kernel);
    if (!error)
        error = gv_database_run(ingest->database, GV_STATEMENT_FLIGHT_ADD, "iiitiizzz",
                                ingest->process, (int64_t)flight->thread, (int64_t)flight->tid,
                                name, api, gv_ingest_time(ingest, flight->start_ns), kernel,
                                (int64_t)flight->stream, seen_ns);
    return error;
}

/* FNV-1a over who is in a call since when. */
static uint64_t gv_ingest_flights_shape(struct gv_ingest *ingest)
{
    struct gv_spool_flight flight;
    uint64_t shape = UINT64_C(0xcbf29ce484222325);
    bool any = false;

    for (uint32_t i = 0; i < ingest->reader->slots_count; i++)
        if (gv_spool_reader_flight(ingest->reader, i, &flight)) {
            shape = (shape ^ flight.thread) * UINT64_C(0x100000001b3);
            shape = (shape ^ flight.start_ns) * UINT64_C(0x100000001b3);
            any = true;
        }
    return any ? shape | 1 : 0;
}

int gv_ingest_flights_clear(struct gv_ingest *ingest)
{
    ingest->flights_shape = 0;
    return gv_database_run(ingest->database, GV_STATEMENT_FLIGHT_CLEAR, "i", ingest->process);
}

int gv_ingest_flights(struct gv_ingest *ingest)
{
    uint64_t shape = gv_ingest_flights_shape(ingest);
    int error;

    /* Looking for causes reads much of the trace: once for each set of calls is enough. */
    if (shape && shape == ingest->flights_shape)
        return gv_database_run(ingest->database, GV_STATEMENT_FLIGHT_SEEN, "iz", ingest->process,
                               ingest->seen_ns ? gv_ingest_time(ingest, ingest->seen_ns) : 0);
    error = gv_ingest_flights_clear(ingest);
    for (uint32_t i = 0; i < ingest->reader->slots_count && !error; i++) {
        struct gv_spool_flight flight;

        if (gv_spool_reader_flight(ingest->reader, i, &flight))
            error = gv_ingest_flight(ingest, &flight);
    }
    if (!error)
        error = gv_flight_causes(ingest->database, ingest->process);
    if (!error)
        ingest->flights_shape = shape;
    return error;
}

/* How full they were, nobody knows. */
static int gv_ingest_cut(struct gv_ingest *ingest)
{
    uint64_t most = (uint64_t)ingest->reader->segments_cut * GV_SPOOL_SEGMENT_RECORDS;

    if (most == 0)
        return 0;
    return gv_database_run(ingest->database, GV_STATEMENT_LOSS_SET, "itti", ingest->process,
                           "record", "at most: the spool was cut", (int64_t)most);
}

int gv_ingest_end(struct gv_ingest *ingest)
{
    struct gv_spool_status status;
    int error;

    gv_spool_reader_status(ingest->reader, &status);
    bool knows_code = status.exit_code_known && !status.dying && !status.leaving;
    bool ended = (status.exiting || knows_code) && !status.dying;
    int64_t end_ns = status.ended_ns ? gv_ingest_time(ingest, status.ended_ns) : 0;
    const char *how = status.leaving ? "exec" : ended ? "exit" : "killed";
    int64_t killer = status.dying ? status.exit_signal : 0;
    if (knows_code)
        error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_END, "iztii",
                                ingest->process, end_ns, how, (int64_t)status.exit_code, killer);
    else
        error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_END, "iztni",
                                ingest->process, end_ns, how, killer);
    if (!error)
        error = gv_ingest_status(ingest);
    if (!error)
        error = gv_ingest_cut(ingest);
    if (!error)
        error = gv_ingest_flights(ingest);
    if (!error)
        error = gv_ingest_gpu_end(ingest, &ingest->scanned);
    return error;
}
