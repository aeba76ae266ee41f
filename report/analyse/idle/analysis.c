#include "report/analyse/idle/analysis.h"

#include "report/analyse/idle/run.h"
#include "report/analyse/names/stack_text.h"
#include "report/analyse_idle_idle.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Numbers of system calls are the machine's that recorded; earlier traces have no samples. */
static int read_machine(struct gv_idle_run *run)
{
    struct utsname here;
    int64_t aarch64 = uname(&here) == 0 && strcmp(here.machine, "aarch64") == 0;
    int error = gv_database_number(
        run->trace, "SELECT value = 'aarch64' FROM meta WHERE key = 'machine'", NULL, 0, &aarch64);

    run->aarch64 = aarch64 != 0;
    return error;
}

void gv_idle_run_close(struct gv_idle_run *run)
{
    struct gv_key_map *maps[] = {&run->stack_numbers, &run->line_numbers,  &run->verdict_numbers,
                                 &run->lane_numbers,  &run->group_numbers, &run->after_numbers};

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        gv_key_map_free(maps[i]);
    for (size_t i = 0; i < run->line_count; i++)
        free(run->lines[i]);
    for (size_t i = 0; i < run->verdict_count; i++)
        free(run->verdicts[i].detail);
    gv_id_table_free(&run->threads);
    gv_id_table_free(&run->python);
    free(run->stacks);
    free(run->lines);
    free(run->verdicts);
    free(run->workers);
    free(run->samples);
    free(run->unseen.times);
    free(run->lanes);
    free(run->gaps);
    free(run->groups);
    free(run->tallies);
    free(run->afters);
    free(run->windows);
    free(run);
}

int gv_idle_run_open(sqlite3 *trace, struct gv_idle_run **run)
{
    int error = (*run = calloc(1, sizeof(**run))) ? 0 : -ENOMEM;

    if (error)
        return error;
    (*run)->trace = trace;
    (*run)->long_ns = GV_IDLE_LONG_NS;
    /* SQLite refuses this while a statement runs. */
    error = gv_stack_text_install(trace);
    return error ? error : read_machine(*run);
}

/* In this order. */
static int (*const idle_steps[])(struct gv_idle_run *run) = {
    gv_idle_samples_read,
    gv_idle_gaps_find,
    gv_idle_calls_pass,
    gv_idle_rows_store,
};

static int idle_make(sqlite3 *trace, int64_t from_ns, int64_t until_ns,
                     const struct gv_range_choice *ranges)
{
    struct gv_idle_run *run;
    int error = gv_idle_run_open(trace, &run);

    if (!run)
        return error;
    run->from_ns = from_ns;
    run->until_ns = until_ns;
    run->ranges = ranges;
    if (!error)
        error = gv_id_table_read(&run->threads, trace, "SELECT id, process FROM thread");
    if (!error)
        error = gv_id_table_read(&run->python, trace, sql_python);
    for (size_t i = 0; i < sizeof(idle_steps) / sizeof(idle_steps[0]) && !error; i++)
        error = idle_steps[i](run);
    gv_idle_run_close(run);
    return error;
}

int gv_idle_keep(sqlite3 *trace, int64_t from_ns, int64_t until_ns)
{
    const int64_t version = GV_IDLE_VERSION;
    int error = gv_database_script(trace, "BEGIN IMMEDIATE; DELETE FROM main.idle_time", NULL, 0);

    if (!error)
        error = idle_make(trace, from_ns, until_ns, NULL);
    if (!error)
        error = gv_database_script(
            trace, "INSERT OR REPLACE INTO meta (key, value) VALUES ('idle', ?)", &version, 1);
    if (!error)
        error = gv_database_script(trace, "COMMIT", NULL, 0);
    if (error && !sqlite3_get_autocommit(trace))
        gv_database_script(trace, "ROLLBACK", NULL, 0);
    return error;
}

int gv_idle_ensure(sqlite3 *trace)
{
    int64_t version = 0;
    int error = gv_database_number(trace, sql_version, NULL, 0, &version);

    return error || version == GV_IDLE_VERSION ? error : gv_idle_of_ranges(trace, NULL);
}

int gv_idle_of_ranges(sqlite3 *trace, const struct gv_range_choice *ranges)
{
    int error = gv_database_script(trace, "DROP TABLE IF EXISTS temp.idle_time", NULL, 0);

    if (!error)
        error = gv_shadow_make(trace, "TABLE", "idle_time");
    if (!error)
        error = gv_shadow_make(trace, "VIEW", "idle");
    if (!error)
        error = gv_shadow_make(trace, "VIEW", "minutes");
    return error ? error : idle_make(trace, INT64_MIN, INT64_MAX, ranges);
}
