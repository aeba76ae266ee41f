#include "report/analyse/jobs/operations.h"

#include "report/analyse_jobs_operations.inc"
#include "report/store/database.h"

int gv_collective_operations_keep(sqlite3 *trace)
{
    int64_t any = 0;
    int error =
        gv_database_number(trace, "SELECT EXISTS (SELECT 1 FROM collective)", NULL, 0, &any);

    if (error || !any)
        return error;
    error = gv_database_script(trace, sql_keep, NULL, 0);
    if (error && !sqlite3_get_autocommit(trace))
        gv_database_script(trace, "ROLLBACK", NULL, 0);
    return error;
}
