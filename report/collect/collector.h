/*
 * The collector: the process that stores a session's records in its trace while the programs run.
 */
#ifndef GV_COLLECT_COLLECTOR_H
#define GV_COLLECT_COLLECTOR_H

/* Collects the session whose file, `path`, is open and locked on `lock_fd`, until its last
 * process is gone. 0, or -errno: what could not be stored is still in the spools. */
int gv_collector_run(const char *path, int lock_fd);

#endif
