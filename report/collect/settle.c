#include "report/collect/settle.h"

#include "report/analyse/jobs/collectives.h"
#include "report/analyse/minutes/minutes.h"
#include "report/analyse/stalls/analysis.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse/facts/facts.h"
#include "report/collect/stack_names.h"
#include "report/show/message.h"

#include <string.h>

static int name_stacks(struct gv_database *database)
{
    int error = gv_database_begin(database);

    if (!error)
        error = gv_stack_names_find(database);
    if (!error)
        error = gv_database_commit_patiently(database);
    if (error)
        gv_database_rollback(database);
    return error;
}

/* A clone may be one of a clone. */
#define GV_SETTLE_CLONES 8

static int find_originals(struct gv_database *database)
{
    static const char sql[] =
        "UPDATE graph_node AS n SET (original, stack) = (SELECT original, stack FROM graph_node o"
        " WHERE o.process = n.process AND o.node = n.original) WHERE original IS NOT NULL";
    int error = 0;

    for (int i = 0; i < GV_SETTLE_CLONES && !error; i++)
        error = gv_database_script(database->handle, sql, NULL, 0);
    return error;
}

static void tell(const char *path, const char *what, int error)
{
    if (error)
        gv_message("cannot %s of %s now: %s", what, path, strerror(-error));
}

void gv_settle(struct gv_database *database, const char *path)
{
    struct gv_pass *pass;
    int error;

    /* Each sort takes as much memory, and a pass reads the large tables once. */
    tell(path, "sort in little memory",
         gv_database_script(database->handle, "PRAGMA cache_size = -2048", NULL, 0));
    tell(path, "name the stacks", name_stacks(database));
    tell(path, "find what graphs were made of", find_originals(database));
    error = gv_pass_open(&pass, database->handle, 0);
    tell(path, "read the calls", error);
    if (!error)
        tell(path, "find the stalls",
             gv_stalls_analyse(database->handle, gv_stalls_threshold_ns(), pass));
    if (!error)
        tell(path, "compute the totals", gv_totals_keep(database->handle, pass));
    gv_pass_close(pass);
    tell(path, "compare the ranks", gv_collectives_settle(database->handle));
    tell(path, "find the facts", gv_facts_keep(database->handle));
    tell(path, "compute the sums by minute", gv_minutes_keep(database->handle));
}
