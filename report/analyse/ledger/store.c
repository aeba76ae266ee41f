/* Writes the ledger into the trace. */
#include "report/analyse/ledger/findings.h"
#include "report/analyse/ledger/uses.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/show/format.h"
#include "report/store/database.h"

#include <math.h>
#include <stdlib.h>

static int bind(sqlite3_stmt *statement, const int64_t *values, int count, const char *const *texts,
                int text_count)
{
    int result = SQLITE_OK;

    for (int i = 0; i < count && result == SQLITE_OK; i++)
        result = sqlite3_bind_int64(statement, i + 1, values[i]);
    for (int i = 0; i < text_count && result == SQLITE_OK; i++)
        result = sqlite3_bind_text(statement, count + i + 1, texts[i], -1, SQLITE_TRANSIENT);
    return result == SQLITE_OK ? gv_database_step(statement)
                               : gv_database_error(sqlite3_db_handle(statement), result);
}

static const char *confidence(const struct gv_ledger_lane *lane, uint32_t what, bool sampled)
{
    if (lane->device < 0)
        return lane->is_sampled && what <= GV_ACCOUNT_SET ? "sampled" : "inferred";
    return sampled ? "sampled" : "measured";
}

static int64_t error_of(const struct gv_ledger_row *row)
{
    return (int64_t)hypot(sqrt(row->variance), row->error_ns);
}

static int store_lane(sqlite3_stmt *add, const struct gv_ledger_lane *lane)
{
    const int64_t values[] = {lane->process,     lane->device, lane->begin_ns,    lane->main_ns,
                              lane->main_end_ns, lane->end_ns, lane->step_series, lane->steps};

    return bind(add, values, 8, NULL, 0);
}

static int store_row(const struct gv_ledger *ledger, sqlite3_stmt *add,
                     const struct gv_ledger_row *row)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[row->lane];
    const int64_t values[] = {lane->process, lane->device,  row->phase, row->place,
                              row->claimed,  row->total_ns, row->count, error_of(row),
                              row->first_ns, row->stack};
    const char *texts[] = {gv_account_say(row->what).name,
                           confidence(lane, row->what, row->sampled),
                           row->verdict ? ledger->verdicts[row->verdict - 1].detail : NULL};

    return bind(add, values, 10, texts, 3);
}

static int store_finding(const struct gv_ledger *ledger, sqlite3_stmt *add,
                         const struct gv_ledger_finding *finding)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[finding->lane];
    const int64_t values[] = {lane->process,     lane->device,
                              finding->phase,    finding->place,
                              finding->lost_ns,  finding->saves_ns,
                              finding->phase_ns, (int64_t)sqrt(finding->variance),
                              finding->count,    finding->phase == GV_LEDGER_MAIN ? lane->steps : 0,
                              finding->stall};
    const char *texts[] = {gv_account_say(finding->what).name,
                           confidence(lane, finding->what, finding->sampled), finding->title,
                           finding->fix, *finding->then ? finding->then : NULL};

    return bind(add, values, 11, texts, 5);
}

/* What a stall advises for one call is too little for one that is made again in each step. */
static int keep_fixes(sqlite3 *trace, const struct gv_ledger_findings *findings)
{
    sqlite3_stmt *keep = NULL;
    int error = gv_database_compile(trace, sql_keep_fix, &keep);

    for (size_t i = 0; i < findings->count && !error; i++) {
        const struct gv_ledger_finding *finding = &findings->list[i];
        const int64_t id = (int64_t)i + 1;
        const char *fix = finding->fix;
        if (finding->keeps_fix)
            error = bind(keep, &id, 1, &fix, 1);
    }
    sqlite3_finalize(keep);
    return error;
}

/* What limited the device: of each phase, and of the run. */
static int store_uses(const struct gv_ledger *ledger, sqlite3_stmt *add, uint32_t number)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[number];
    struct gv_ledger_used used;
    int error = 0;

    for (unsigned phase = 0; phase <= GV_LEDGER_PHASES && lane->use_count && !error; phase++) {
        int64_t values[5 + GV_USE_VALUES] = {lane->process, lane->device, phase};
        error = gv_ledger_use_sum(ledger, number, phase, &used);
        const char *text = *used.words ? used.words : NULL;
        if (used.slowed_by)
            gv_format_add(used.words, sizeof(used.words), "; slowed down by %s", used.slowed_by);
        values[3] = used.samples;
        values[4] = used.busy_ns;
        for (int i = 0; i < GV_USE_VALUES; i++)
            values[5 + i] = used.means[i];
        if (!error && used.samples)
            error = bind(add, values, 5 + GV_USE_VALUES, &text, 1);
    }
    return error;
}

int gv_ledger_lanes_store(struct gv_ledger *ledger)
{
    sqlite3_stmt *add = NULL;
    int error = gv_database_error(ledger->trace,
                                  sqlite3_prepare_v2(ledger->trace, sql_add_lane, -1, &add, NULL));

    for (size_t i = 0; i < ledger->lane_count && !error; i++)
        error = store_lane(add, &ledger->lanes[i]);
    sqlite3_finalize(add);
    return error;
}

int gv_ledger_store(struct gv_ledger *ledger, const struct gv_ledger_rows *rows,
                    const struct gv_ledger_findings *findings)
{
    sqlite3_stmt *adds[3] = {NULL};
    const char *const texts[] = {sql_add_row, sql_add_finding, sql_add_use};
    int error = 0;

    for (int i = 0; i < 3 && !error; i++)
        error = gv_database_error(ledger->trace,
                                  sqlite3_prepare_v2(ledger->trace, texts[i], -1, &adds[i], NULL));
    for (uint32_t i = 0; i < ledger->lane_count && !error; i++)
        error = store_uses(ledger, adds[2], i);
    for (size_t i = 0; i < rows->count && !error; i++)
        error = store_row(ledger, adds[0], &rows->rows[i]);
    for (size_t i = 0; i < findings->count && !error; i++)
        error = store_finding(ledger, adds[1], &findings->list[i]);
    for (int i = 0; i < 3; i++)
        sqlite3_finalize(adds[i]);
    if (!error)
        error = gv_database_script(ledger->trace, sql_drop_sharing, NULL, 0);
    if (!error && findings->count)
        error = gv_database_script(ledger->trace, sql_evidence, NULL, 0);
    return error ? error : keep_fixes(ledger->trace, findings);
}
