/* What is stored once of a process, its losses, its calls in flight, and its end. */
#include "report/collect/ingest_state.h"

#include "report/analyse/stalls/in_flight.h"
#include "trace/mix.h"
#include "trace/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int store_loss(struct gv_ingest *ingest, const char *what, const char *class_name,
                      uint64_t count, uint64_t stored)
{
    if (count == stored && (ingest->status_stored || count == 0))
        return 0;
    return GV_ADD(ingest->database, loss, .process = ingest->process, .what = what,
                  .class = class_name, .count = (int64_t)count);
}

static int store_lost_calls(struct gv_ingest *ingest, const struct gv_spool_status *now)
{
    int error = 0;

    for (uint32_t i = 0; i < GV_SPOOL_CLASSES && !error; i++) {
        char class_name[16], text[GV_TEXT_REPAIRED_BYTES(16)];

        if (!gv_spool_reader_class(ingest->reader, i, class_name))
            snprintf(class_name, sizeof(class_name), "class %u", i);
        gv_text_repair(text, sizeof(text), class_name, sizeof(class_name));
        error = store_loss(ingest, "call", text, now->lost_calls[i], ingest->status.lost_calls[i]);
    }
    return error;
}

static int store_environment(struct gv_ingest *ingest)
{
    static const char *const names[GV_ENVIRONMENT_COUNT] = {
#define GV_ENVIRONMENT(name, ...) #name,
#include "trace/environment.def"
    };
    char value[GV_SPOOL_VARIABLE_BYTES], text[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_VARIABLE_BYTES)];
    int error =
        gv_database_run(ingest->database, GV_STATEMENT_VARIABLE_CLEAR, "i", ingest->process);

    for (int i = 0; i < GV_ENVIRONMENT_COUNT && !error; i++) {
        gv_spool_reader_variable(ingest->reader, (enum gv_environment)i, value);
        if (value[0] != '=')
            continue;
        gv_text_repair(text, sizeof(text), value + 1, sizeof(value) - 1);
        error = GV_ADD(ingest->database, variable, .process = ingest->process, .name = names[i],
                       .value = text);
    }
    return error;
}

int gv_ingest_status(struct gv_ingest *ingest)
{
    struct gv_spool_status now, *old = &ingest->status;
    int error = 0;

    gv_spool_reader_status(ingest->reader, &now);
    const struct {
        const char *what, *class_name;
        uint64_t count, stored;
    } losses[] = {
        {"GPU record", "dropped by CUPTI", now.gpu_dropped, old->gpu_dropped},
        {"GPU record", "", now.gpu_lost, old->gpu_lost},
        {"name", "", now.lost_names, old->lost_names},
        {"load", "", now.lost_loads, old->lost_loads},
        {"thread", "", now.lost_threads, old->lost_threads},
        {"stack", "no room", now.stacks_not_taken, old->stacks_not_taken},
        {"stack", "of other threads", now.lost_stacks, old->lost_stacks},
        {"Python stack", "", now.lost_python_stacks, old->lost_python_stacks},
        {"host function", "", now.lost_host_functions, old->lost_host_functions},
        {"range", "", now.lost_ranges, old->lost_ranges},
        {"graph node", "", now.lost_graph_nodes, old->lost_graph_nodes},
    };
    if (now.driver_version && now.driver_version != old->driver_version)
        error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_DRIVER, "ii",
                                ingest->process, (int64_t)now.driver_version);
    if (!error && now.environment_reads != ingest->status.environment_reads)
        error = store_environment(ingest);
    if (!error)
        error = gv_ingest_gpu_status(ingest, &now);
    if (!error)
        error = gv_ingest_control(ingest);
    if (!error)
        error = store_lost_calls(ingest, &now);
    if (!error)
        error = gv_process_cost_store(&ingest->cost, &now);
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]) && !error; i++)
        error = store_loss(ingest, losses[i].what, losses[i].class_name, losses[i].count,
                           losses[i].stored);
    *old = now;
    ingest->status_stored = !error;
    return error;
}

static int store_flight(struct gv_ingest *ingest, const struct gv_spool_flight *flight)
{
    char name[GV_TEXT_REPAIRED_BYTES(GV_SPOOL_COMM_BYTES)];
    const struct gv_ingest_api *api;
    int64_t kernel = 0;
    /* The last look at the process may have been before the call began. */
    bool seen = ingest->seen_ns > flight->start_ns;
    int64_t seen_ns = seen ? gv_ingest_time(ingest, ingest->seen_ns) : 0;
    int error = gv_ingest_intern_api(ingest, flight->api, &api);

    gv_text_repair(name, sizeof(name), flight->comm, sizeof(flight->comm));
    if (!error && flight->detail <= UINT32_MAX)
        error = gv_ingest_intern_kernel(ingest, (uint32_t)flight->detail, &kernel);
    if (!error)
        error =
            GV_ADD(ingest->database, flight, .process = ingest->process,
                   .thread_serial = (int64_t)flight->thread, .tid = flight->tid, .name = name,
                   .api = api->row, .start_ns = gv_ingest_time(ingest, flight->start_ns),
                   .kernel = kernel, .stream_handle = (int64_t)flight->stream, .seen_ns = seen_ns);
    return error;
}

/* A hash of the threads in calls, and their starts. */
static uint64_t shape_of_flights(struct gv_ingest *ingest)
{
    struct gv_spool_flight flight;
    uint64_t shape = 0;
    bool any = false;

    for (uint32_t i = 0; i < ingest->reader->slots_count; i++)
        if (gv_spool_reader_flight(ingest->reader, i, &flight)) {
            shape = gv_mix(shape, flight.thread);
            shape = gv_mix(shape, flight.start_ns);
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
    uint64_t shape = shape_of_flights(ingest);
    int error;

    /* Finding causes reads much of the trace, so it is done once for each set of calls. */
    if (shape && shape == ingest->flights_shape)
        return gv_database_run(ingest->database, GV_STATEMENT_FLIGHT_SEEN, "iz", ingest->process,
                               ingest->seen_ns ? gv_ingest_time(ingest, ingest->seen_ns) : 0);
    error = gv_ingest_flights_clear(ingest);
    for (uint32_t i = 0; i < ingest->reader->slots_count && !error; i++) {
        struct gv_spool_flight flight;

        if (gv_spool_reader_flight(ingest->reader, i, &flight))
            error = store_flight(ingest, &flight);
    }
    if (!error)
        error = gv_flight_causes(ingest->database, ingest->process);
    if (!error)
        ingest->flights_shape = shape;
    return error;
}

/* Nobody knows how full they were. */
static int store_cut(struct gv_ingest *ingest)
{
    uint64_t most = (uint64_t)ingest->reader->segments_cut * GV_SPOOL_SEGMENT_RECORDS;

    if (most == 0)
        return 0;
    return GV_ADD(ingest->database, loss, .process = ingest->process, .what = "record",
                  .class = "at most: the spool was cut", .count = (int64_t)most);
}

int gv_ingest_end(struct gv_ingest *ingest, bool became_another)
{
    struct gv_spool_status status;
    int error;

    gv_spool_reader_status(ingest->reader, &status);
    bool knows_code = status.exit_code_known && !status.dying;
    bool ended = (status.exiting || knows_code) && !status.dying;
    int64_t end_ns = status.ended_ns ? gv_ingest_time(ingest, status.ended_ns) : 0;
    const char *how = became_another ? "exec" : ended ? "exit" : "killed";
    int64_t killer = status.dying ? status.exit_signal : 0, code = status.exit_code;
    error = gv_database_run(ingest->database, GV_STATEMENT_PROCESS_END, "iztpi", ingest->process,
                            end_ns, how, knows_code ? &code : NULL, killer);
    if (!error)
        error = gv_ingest_status(ingest);
    if (!error)
        error = store_cut(ingest);
    if (!error)
        error = gv_ingest_flights(ingest);
    if (!error)
        error = gv_ingest_idle_end(ingest);
    if (!error)
        error = gv_ingest_gpu_end(ingest, &ingest->scanned);
    if (!error)
        error = gv_python_code_end(&ingest->python_codes);
    if (!error)
        gv_live_process_end(&ingest->live, end_ns);
    return error;
}

/* Joins arguments (NUL after each), quoted for a shell. */
static void join_arguments(const struct gv_spool_facts *facts, char *out, size_t size)
{
    size_t used = 0;

    for (uint32_t at = 0; at < facts->arguments_bytes && used + 4 < size;) {
        const char *argument = facts->arguments + at;
        bool plain = *argument && !strpbrk(argument, " \t\n\"'\\$`&|;<>(){}*?[]~#!");

        if (used > 0)
            out[used++] = ' ';
        if (!plain)
            out[used++] = '\'';
        for (const char *c = argument; *c && used + 6 < size; c++) {
            if (*c == '\'' && !plain) {
                memcpy(out + used, "'\\''", 4);
                used += 4;
            } else {
                out[used++] = *c;
            }
        }
        if (!plain)
            out[used++] = '\'';
        at += (uint32_t)strlen(argument) + 1;
    }
    out[used] = '\0';
}

static int add_rank(struct gv_ingest *ingest, const struct gv_rank *rank)
{
    const char *const texts[] = {rank->job, rank->host, rank->container}, *known[3];
    char repaired[3][GV_TEXT_REPAIRED_BYTES(GV_RANK_TEXT_BYTES)];

    for (int i = 0; i < 3; i++)
        known[i] = gv_text_repair(repaired[i], sizeof(repaired[i]), texts[i], GV_RANK_TEXT_BYTES)
                       ? repaired[i]
                       : NULL;
    return GV_ADD(ingest->database, process_rank, .process = ingest->process,
                  .rank = gv_row_known(rank->rank), .local_rank = gv_row_known(rank->local_rank),
                  .world_size = gv_row_known(rank->world_size), .job = known[0], .host = known[1],
                  .container = known[2]);
}

int gv_ingest_process_add(struct gv_ingest *ingest, const struct gv_spool_facts *facts)
{
    char joined[2 * GV_SPOOL_ARGUMENTS_BYTES];
    static char arguments[GV_TEXT_REPAIRED_BYTES(sizeof(joined))];
    char program[GV_TEXT_REPAIRED_BYTES(sizeof(facts->program))];
    char executable[GV_TEXT_REPAIRED_BYTES(sizeof(facts->executable))];
    char directory[GV_TEXT_REPAIRED_BYTES(sizeof(facts->directory))];

    join_arguments(facts, joined, sizeof(joined));
    gv_text_repair(arguments, sizeof(arguments), joined, sizeof(joined));
    gv_text_repair(program, sizeof(program), facts->program, sizeof(facts->program));
    gv_text_repair(executable, sizeof(executable), facts->executable, sizeof(facts->executable));
    gv_text_repair(directory, sizeof(directory), facts->directory, sizeof(facts->directory));
    int error =
        GV_ADD(ingest->database, process, .identity = (int64_t)facts->identity, .pid = facts->pid,
               .parent_pid = facts->parent_pid, .start_ticks = (int64_t)facts->process_start_ticks,
               .program = program, .executable = executable, .arguments = arguments,
               .directory = directory, .forked = facts->forked,
               .start_ns = gv_ingest_time(ingest, facts->attached_ns));
    ingest->process = gv_database_last_id(ingest->database);
    return error ? error : add_rank(ingest, &facts->rank);
}
