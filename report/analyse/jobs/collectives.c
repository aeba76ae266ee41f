#include "report/analyse/jobs/collectives.h"

#include "report/analyse/names/places.h"
#include "report/analyse_jobs_jobs.inc"
#include "report/analyse_jobs_operations.inc"
#include "report/store/database.h"
#include "report/store/shadow.h"

static const char *const tables[] = {"collective_group", "collective_member"};
static const char *const views[] = {"collectives", "ranks"};

int gv_replays_find(sqlite3 *trace)
{
    int64_t any = 0;
    int error = gv_database_number(trace, sql_any_captured, NULL, 0, &any);

    if (!error)
        error = gv_database_script(trace, sql_new_replays, NULL, 0);
    return error || !any ? error : gv_database_script(trace, sql_find_replays, NULL, 0);
}

static int has_collectives(sqlite3 *trace, int64_t *any)
{
    return gv_database_number(trace, "SELECT EXISTS (SELECT 1 FROM collective)", NULL, 0, any);
}

int gv_operations_ensure(sqlite3 *trace)
{
    int64_t complete = 0, any = 0;
    int error = gv_database_number(trace, sql_is_complete, NULL, 0, &complete);

    if (!error)
        error = has_collectives(trace, &any);
    if (error || complete || !any)
        return error;
    error = gv_shadow_make(trace, "TABLE", "collective");
    if (!error)
        error = gv_database_script(
            trace, "INSERT INTO temp.collective SELECT * FROM main.collective", NULL, 0);
    return error ? error : gv_database_script(trace, sql_find_operations, NULL, 0);
}

static int collectives_make(sqlite3 *trace)
{
    const int64_t late_ns = GV_COLLECTIVES_LATE_NS;
    int error = gv_replays_find(trace);

    if (!error)
        error = gv_database_script(trace, sql_make_groups, &late_ns, 1);
    if (!error)
        error = gv_places_of_stacks(trace, sql_stacks);
    return error;
}

static int keep(sqlite3 *trace, bool finds_operations)
{
    int64_t any = 0;
    const int64_t version = GV_COLLECTIVES_VERSION, late_ns = GV_COLLECTIVES_LATE_NS;
    int error = gv_database_script(
        trace, "BEGIN IMMEDIATE; DELETE FROM collective_group; DELETE FROM collective_member", NULL,
        0);

    if (!error)
        error = has_collectives(trace, &any);
    if (!error && any && finds_operations)
        error = gv_database_script(trace, sql_find_operations, NULL, 0);
    if (!error && any)
        error = collectives_make(trace);
    if (!error)
        error = gv_database_script(trace, sql_forget_waits, NULL, 0);
    if (!error && any)
        error = gv_database_script(trace, sql_add_waits, &late_ns, 1);
    if (!error)
        error = gv_database_script(
            trace, "INSERT OR REPLACE INTO meta (key, value) VALUES ('collectives', ?)", &version,
            1);
    return gv_database_end_writing(trace, error);
}

int gv_collectives_keep(sqlite3 *trace)
{
    return keep(trace, false);
}

int gv_collectives_settle(sqlite3 *trace)
{
    return keep(trace, true);
}

int gv_collectives_ensure(sqlite3 *trace)
{
    int64_t version = 0, any = 0;
    int error = gv_database_number(trace, sql_version, NULL, 0, &version);

    if (!error)
        error = has_collectives(trace, &any);
    if (error || !any || version == GV_COLLECTIVES_VERSION)
        return error;
    error = gv_places_open(trace);
    if (!error)
        error = gv_operations_ensure(trace);
    if (!error)
        error = gv_shadow_make_all(trace, "TABLE", tables, sizeof(tables) / sizeof(tables[0]));
    if (!error)
        error = gv_shadow_make_all(trace, "VIEW", views, sizeof(views) / sizeof(views[0]));
    return error ? error : collectives_make(trace);
}
