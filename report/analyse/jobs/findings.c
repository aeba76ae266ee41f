/* The findings of a job: the same in several ranks counts once, where it is largest. */
#include "report/analyse/jobs/collectives.h"

#include "report/analyse_jobs_findings.inc"
#include "report/store/database.h"

int gv_job_findings_join(sqlite3 *trace)
{
    int64_t ranks = 0;
    int error = gv_database_number(trace, sql_ranks, NULL, 0, &ranks);

    return error || ranks < 2 ? error : gv_database_script(trace, sql_join, NULL, 0);
}
