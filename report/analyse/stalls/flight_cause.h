/*
 * Why calls have not returned, as far as it can be known while they hang: from what each call does,
 * from the calls that other threads are in, and from launches that the GPU has not finished.
 */
#ifndef GV_ANALYSE_STALLS_FLIGHT_CAUSE_H
#define GV_ANALYSE_STALLS_FLIGHT_CAUSE_H

#include "report/store/database.h"

#include <stdint.h>

/* Fills in the columns cause, blocked_by_thread, confidence and advice of the process's rows of
 * `flight`. Inside a transaction of the caller's. 0 or -errno. */
int gv_flight_causes(struct gv_database *database, int64_t process);

#endif
