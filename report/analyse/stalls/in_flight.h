/*
 * Why calls have not returned: judged by what each call does, by the calls that other threads
 * are in, and by launches that the GPU has not finished.
 */
#ifndef GV_ANALYSE_STALLS_IN_FLIGHT_H
#define GV_ANALYSE_STALLS_IN_FLIGHT_H

#include "report/store/database.h"

#include <stdbool.h>
#include <stdint.h>

/* Fills in the columns cause, blocked_by_thread, confidence, state and advice of the process's rows
 * of `flight`. Inside a transaction of the caller's. 0 or -errno. */
int gv_flight_causes(struct gv_database *database, int64_t process);

/* Launches whose end is not known. */
struct gv_flight_work {
    int64_t unfinished; /* launches */
    int64_t start_ns;   /* of the first */
    int64_t call;       /* of the first */
    char kernel[128];   /* of the first, or "host function work"; "": unknown */
    bool meets;         /* one of them is a collective of NCCL, */
    char meeting[128];  /* with this kernel; "": unknown */
};

/* Reads the process's last calls. 0 or -errno. */
int gv_flight_work_read(sqlite3 *trace, int64_t process, struct gv_flight_work *work);

#endif
