/*
 * The GPU operations of NCCL's collectives: one that a group holds back is launched by the end of
 * the group.
 */
#ifndef GV_ANALYSE_JOBS_OPERATIONS_H
#define GV_ANALYSE_JOBS_OPERATIONS_H

#include <sqlite3.h>

/* Fills in collective.operation of a trace that is being finished, in a transaction of its own. 0
 * or -errno. */
int gv_collective_operations_keep(sqlite3 *trace);

#endif
