/* The findings of a job: the same in several ranks counts once, where it is largest. */
#ifndef GV_JOBS_FINDINGS_H
#define GV_JOBS_FINDINGS_H

#include <sqlite3.h>

/* After gv_ledger_make(). Without several ranks the table finding stays as it is. 0 or -errno. */
int gv_job_findings_join(sqlite3 *trace);

#endif
