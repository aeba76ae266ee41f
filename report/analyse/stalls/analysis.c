#include "report/analyse/stalls/analysis.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/run.h"
#include "report/store/shadow.h"
#include "trace/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int64_t gv_stalls_threshold_ns(void)
{
    struct gv_settings *settings = calloc(1, sizeof(*settings));
    int64_t threshold_ns = 100000;

    if (settings) {
        gv_settings_read(settings, NULL, NULL);
        threshold_ns = settings->stall_us * 1000;
    }
    free(settings);
    return threshold_ns;
}

static int gv_stalls_chunk(struct gv_stall_run *run)
{
    int error = gv_stall_gpu_look(run);

    if (!error)
        error = gv_stall_replay_look(run);
    if (!error)
        error = gv_stall_causes(run);
    return error ? error : gv_stall_store(run);
}

static int gv_stalls_run(sqlite3 *trace, int64_t threshold_ns)
{
    struct gv_stall_run *run = calloc(1, sizeof(*run));
    /* Before any statement runs: a second analysis could not do it again. */
    int error = run ? gv_stack_text_install(trace) : -ENOMEM;

    if (!error)
        error = gv_stall_run_open(run, trace, threshold_ns);
    if (!error && run->any_measured)
        error = gv_stall_gpu_open(run);
    if (!error)
        error = gv_stall_calls_next(run);
    while (!error && run->held_count > 0) {
        error = gv_stalls_chunk(run);
        if (!error)
            error = gv_stall_calls_next(run);
    }
    if (!error)
        error = gv_stall_advise(run);
    if (run && run->trace)
        gv_stall_run_close(run);
    free(run);
    return error;
}

static int gv_stalls_say(sqlite3 *trace, int64_t threshold_ns)
{
    char *sql = sqlite3_mprintf("INSERT OR REPLACE INTO meta (key, value) VALUES ('stalls', %d),"
                                " ('stall_threshold_ns', %lld)",
                                GV_STALLS_VERSION, (long long)threshold_ns);
    int error = sql ? gv_stall_execute(trace, sql) : -ENOMEM;

    sqlite3_free(sql);
    return error;
}

int gv_stalls_analyse(sqlite3 *trace, int64_t threshold_ns)
{
    int error = gv_stall_execute(trace, "BEGIN IMMEDIATE; DELETE FROM main.stall;"
                                        "DELETE FROM main.stall_advice;"
                                        "DELETE FROM main.load_wait;");

    gv_kernel_names_learn(trace); /* advice names them */
    if (!error)
        error = gv_stalls_run(trace, threshold_ns);
    if (!error)
        error = gv_stalls_say(trace, threshold_ns);
    if (!error)
        error = gv_stall_execute(trace, "COMMIT");
    if (error && !sqlite3_get_autocommit(trace))
        gv_stall_execute(trace, "ROLLBACK");
    return error;
}

int gv_stalls_analyse_temporary(sqlite3 *trace, int64_t threshold_ns)
{
    static const struct {
        const char *kind, *name;
    } shadows[] = {{"TABLE", "stall"},
                   {"TABLE", "stall_advice"},
                   {"TABLE", "load_wait"},
                   {"VIEW", "stalls"},
                   {"VIEW", "loads"}};
    int error = gv_stall_execute(
        trace, "DROP VIEW IF EXISTS temp.stalls; DROP VIEW IF EXISTS temp.loads;"
               "DROP TABLE IF EXISTS temp.stall; DROP TABLE IF EXISTS temp.stall_advice;"
               "DROP TABLE IF EXISTS temp.load_wait;");

    for (size_t i = 0; i < sizeof(shadows) / sizeof(shadows[0]) && !error; i++)
        error = gv_shadow_make(trace, shadows[i].kind, shadows[i].name);
    return error ? error : gv_stalls_run(trace, threshold_ns);
}

int gv_stalls_ensure(sqlite3 *trace)
{
    sqlite3_stmt *statement = NULL;
    int64_t threshold_ns = gv_stalls_threshold_ns();
    bool done = false;
    int result = sqlite3_prepare_v2(trace,
                                    "SELECT value FROM meta WHERE key = 'stalls' AND EXISTS"
                                    " (SELECT 1 FROM meta WHERE key = 'state'"
                                    " AND value = 'complete')",
                                    -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        done = sqlite3_column_int(statement, 0) == GV_STALLS_VERSION;
    sqlite3_finalize(statement);
    if (done || gv_stall_error(trace, result))
        return gv_stall_error(trace, result);
    return gv_stalls_analyse_temporary(trace, threshold_ns);
}
