/*
 * Why calls have not returned, as far as it can be known while they hang: from what each call does,
 * from the calls that other threads are in, and from launches that the GPU has not finished.
 */
#ifndef GV_ANALYSE_STALLS_IN_FLIGHT_H
#define GV_ANALYSE_STALLS_IN_FLIGHT_H

#include "report/store/database.h"

#include <stdint.h>

/* Fills in the columns cause, blocked_by_thread, confidence, state and advice of the process's rows
 * of `flight`. Inside a transaction of the caller's. 0 or -errno. */
int gv_flight_causes(struct gv_database *database, int64_t process);

/* What the GPU had not finished when last heard of: launches of which no end is known. */
struct gv_flight_work {
    int64_t unfinished; /* launches */
    int64_t start_ns;   /* of the first */
    int64_t call;       /* of the first: its row */
    char kernel[128];   /* of the first; "": not known */
};

/* Looks at the process's last calls. 0 or -errno. */
int gv_flight_work_read(sqlite3 *trace, int64_t process, struct gv_flight_work *work);

#endif
