#include "report/analyse/ledger/analysis.h"

#include "report/analyse/ledger/findings.h"
#include "report/analyse/ledger/minutes.h"
#include "report/analyse/ledger/uses.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse_ledger_ledger.inc"
#include "report/store/array.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <errno.h>
#include <stdlib.h>

#define STALLS_MOST 524288u
#define BUILDS_MOST 65536u

static int take_api(void *context, sqlite3_stmt *row)
{
    struct gv_ledger *ledger = context;
    int64_t id = sqlite3_column_int64(row, 0);
    const char *class = (const char *)sqlite3_column_text(row, 1);
    const char *name = (const char *)sqlite3_column_text(row, 2);

    if (id <= 0 || (uint64_t)id >= ledger->apis.rows)
        return 0;
    int64_t *values = &ledger->apis.values[(size_t)id * ledger->apis.columns];
    values[0] = gv_api_class_find(class ? class : "");
    values[4] = gv_account_of_class((enum gv_api_class)values[0]);
    values[5] = name && gv_api_is_runtime(name);
    values[6] = (values[0] == GV_CLASS_COPY || values[0] == GV_CLASS_SET) && name &&
                !gv_api_is_per_thread(name);
    return 0;
}

static int take_thread(void *context, sqlite3_stmt *row)
{
    struct gv_ledger *ledger = context;
    int64_t id = sqlite3_column_int64(row, 0), process = sqlite3_column_int64(row, 1);

    if (id > 0 && (uint64_t)id < ledger->thread_count && process > 0 &&
        (uint64_t)process < ledger->process_count)
        ledger->threads[id].process = (uint32_t)process;
    return 0;
}

static int take_stall(void *context, sqlite3_stmt *row)
{
    struct gv_ledger *ledger = context;
    const struct gv_key key = {{(uint64_t)sqlite3_column_int64(row, 0), 0, 0}};
    enum gv_cause cause = gv_cause_find((const char *)sqlite3_column_text(row, 1));
    int error;

    if (ledger->stall_count >= STALLS_MOST || gv_key_map_find(&ledger->stall_numbers, &key))
        return 0;
    error = gv_array_room(&ledger->stalls, ledger->stall_count, &ledger->stall_room,
                          sizeof(*ledger->stalls));
    if (error)
        return error;
    ledger->stalls[ledger->stall_count] = (struct gv_ledger_stall){
        .what = gv_account_of_cause((const char *)sqlite3_column_text(row, 1)),
        .stalled_ns = gv_time_column_duration(row, 2),
        .drained_ns = gv_cause_drains(cause) ? gv_time_column_duration(row, 3) : 0,
    };
    return gv_key_map_add(&ledger->stall_numbers, &key, (int64_t)++ledger->stall_count);
}

static int take_build(void *context, sqlite3_stmt *row)
{
    struct gv_ledger *ledger = context;
    const struct gv_key key = {{(uint64_t)sqlite3_column_int64(row, 0), 0, 0}};

    return gv_key_map_find(&ledger->builds, &key) || ledger->builds.used >= BUILDS_MOST
               ? 0
               : gv_key_map_add(&ledger->builds, &key, 1);
}

/* Ids above this are in no trace of ours. */
#define IDS_MOST 16777216

static int room_by_id(struct gv_ledger *ledger)
{
    int64_t processes = 0, threads = 0;
    int error =
        gv_database_number(ledger->trace, "SELECT max(id) FROM process", NULL, 0, &processes);

    if (!error)
        error = gv_database_number(ledger->trace, "SELECT max(id) FROM thread", NULL, 0, &threads);
    processes = processes < 0 || processes > IDS_MOST ? 0 : processes;
    threads = threads < 0 || threads > IDS_MOST ? 0 : threads;
    ledger->process_count = (size_t)processes + 1;
    ledger->thread_count = (size_t)threads + 1;
    ledger->processes = calloc(ledger->process_count, sizeof(*ledger->processes));
    ledger->threads = calloc(ledger->thread_count, sizeof(*ledger->threads));
    ledger->launches = calloc(GV_LEDGER_LAUNCHES, sizeof(*ledger->launches));
    return error ? error : ledger->processes && ledger->threads && ledger->launches ? 0 : -ENOMEM;
}

static int ledger_open(struct gv_ledger *ledger)
{
    uint32_t rest;
    int error = gv_id_table_read(&ledger->apis, ledger->trace,
                                 "SELECT id, 0, gpu_work, coalesce(begins_capture, 0) + 2 * "
                                 "coalesce(ends_capture, 0), awaits_event, 0, 0, 0, 0, 0 FROM api");

    if (!error)
        error = gv_database_each(ledger->trace, sql_apis, NULL, 0, take_api, ledger);
    if (!error)
        error = gv_id_table_read(&ledger->places, ledger->trace,
                                 "SELECT id, process, device, 0, 0 FROM gpu_place");
    if (!error)
        error = gv_id_table_read(&ledger->contexts, ledger->trace,
                                 "SELECT context, device + 1 FROM context_device");
    if (!error)
        error = gv_id_table_read(&ledger->streams, ledger->trace,
                                 "SELECT id, context, kind = 'legacy default', 0 FROM stream");
    if (!error)
        error = gv_id_table_read(&ledger->shapes, ledger->trace, sql_collectives);
    if (!error)
        error = gv_id_table_read(&ledger->names, ledger->trace, "SELECT id, 0 FROM gpu_name");
    ledger->place_ends_ns = calloc(ledger->places.rows + 1, sizeof(*ledger->place_ends_ns));
    if (!error && !ledger->place_ends_ns)
        error = -ENOMEM;
    if (!error)
        error = room_by_id(ledger);
    if (!error)
        error = gv_ledger_pair_of(ledger, 0, 0, 0, &rest);
    if (!error)
        error = gv_database_each(ledger->trace, "SELECT id, process FROM thread", NULL, 0,
                                 take_thread, ledger);
    if (!error)
        error = gv_database_each(ledger->trace, sql_stalls, NULL, 0, take_stall, ledger);
    if (!error)
        error = gv_database_each(ledger->trace, sql_builds, NULL, 0, take_build, ledger);
    if (!error)
        error = gv_database_number(ledger->trace,
                                   "SELECT max(0, value) FROM meta WHERE key = 'full_from_ns'",
                                   NULL, 0, &ledger->minutes.from_ns);
    if (!error)
        error = gv_gpu_unseen_read(ledger->trace, &ledger->unseen);
    if (!error)
        error = gv_stopped_read(ledger->trace, &ledger->stopped);
    if (!error)
        error = gv_stack_text_install(ledger->trace);
    if (!error)
        error = gv_ledger_looks_read(ledger);
    if (!error)
        error = gv_scaled_open(&ledger->scaled, ledger->trace, ledger->pass);
    if (!error)
        error = gv_ledger_lanes_find(ledger);
    return error || ledger->only_minutes ? error : gv_ledger_uses_read(ledger);
}

static void ledger_close(struct gv_ledger *ledger)
{
    struct gv_id_table *tables[] = {&ledger->apis,    &ledger->places, &ledger->contexts,
                                    &ledger->streams, &ledger->shapes, &ledger->names};
    struct gv_key_map *maps[] = {&ledger->pair_numbers,   &ledger->tally_numbers,
                                 &ledger->cell_numbers,   &ledger->stall_numbers,
                                 &ledger->stack_reasons,  &ledger->builds,
                                 &ledger->sampled_numbers};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        gv_id_table_free(tables[i]);
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        gv_key_map_free(maps[i]);
    for (size_t i = 0; ledger->processes && i < ledger->process_count; i++)
        free(ledger->processes[i].lanes);
    for (size_t i = 0; i < ledger->lane_count; i++) {
        free(ledger->lanes[i].entries);
        free(ledger->lanes[i].copies);
        free(ledger->lanes[i].open);
        free(ledger->lanes[i].uses);
    }
    for (size_t i = 0; i < ledger->verdict_count; i++)
        free(ledger->verdicts[i].detail);
    free(ledger->processes);
    free(ledger->threads);
    free(ledger->lanes);
    free(ledger->pairs);
    free(ledger->tallies);
    free(ledger->cells);
    free(ledger->stalls);
    free(ledger->launches);
    free(ledger->verdicts);
    free(ledger->looks_seen);
    free(ledger->place_ends_ns);
    free(ledger->beside);
    free(ledger->sampled);
    gv_scaled_close(ledger->scaled);
    gv_key_map_free(&ledger->beside_numbers);
    gv_ledger_minutes_free(ledger);
    free(ledger->idle.pieces);
    free(ledger->idle.gaps);
    free(ledger->unseen.times);
    free(ledger->stopped.times);
    gv_pass_sorted_close(ledger->looks);
    sqlite3_finalize(ledger->frames);
    sqlite3_finalize(ledger->checks_gradient);
}

static int make(struct gv_ledger *ledger)
{
    struct gv_ledger_rows rows = {0};
    struct gv_ledger_findings findings = {0};
    int error = ledger_open(ledger);

    if (!error)
        error = gv_ledger_take(ledger);
    if (!error)
        gv_ledger_copies_judge(ledger);
    if (!error)
        error = gv_ledger_split(ledger, &rows);
    if (!error)
        error = gv_ledger_lanes_store(ledger);
    if (!error && !ledger->only_minutes)
        error = gv_ledger_uses_share(ledger);
    if (!error && !ledger->only_minutes)
        error = gv_ledger_findings_make(ledger, &rows, &findings);
    if (!error)
        error = gv_ledger_store(ledger, &rows, &findings);
    if (!error)
        error = gv_ledger_minutes_store(ledger);
    if (!error && !ledger->only_minutes)
        error = gv_ledger_idle_store(ledger, &rows);
    free(findings.list);
    gv_ledger_rows_free(&rows);
    ledger_close(ledger);
    return error;
}

int gv_ledger_make(sqlite3 *trace, const struct gv_totals_part *part, struct gv_pass *pass)
{
    struct gv_ledger ledger = {.trace = trace, .part = *part, .pass = pass};

    return make(&ledger);
}

int gv_ledger_minutes_make(sqlite3 *trace, const struct gv_totals_part *part, struct gv_pass *pass)
{
    struct gv_ledger ledger = {.trace = trace, .part = *part, .pass = pass, .only_minutes = true};

    return make(&ledger);
}
