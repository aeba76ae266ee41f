/*
 * The steps by which a process becomes part of a session. Called once per process, by the thread
 * that makes its first CUDA call; each returns 0 or -errno and leaves nothing behind on an error.
 */
#ifndef GV_PROCESS_ATTACH_H
#define GV_PROCESS_ATTACH_H

#include "preload/base/own_process.h"

/* Chooses the spool directory, opens or makes the session file, makes the spool. `*lock_fd` is the
 * locked session file when this process must start the collector, otherwise -1. -ECANCELED: the
 * user has been told why not. */
int gv_session_join(struct gv_process *process, int *lock_fd);

/* Starts the collector, detached, and gives it the lock. `lock_fd` is closed here in any case. */
int gv_collector_start(struct gv_process *process, int lock_fd);

/* Fills in what the spool says about the process. */
void gv_process_describe(struct gv_spool_header *header);

/* "train" for python3 train.py, otherwise the name of the program. */
void gv_process_program_name(char *name, size_t bytes);

/*
 * The process sends itself a signal that should end it. What CUPTI holds comes into the spool,
 * within a second, and all that is recorded into the trace, within GPUVERIFY_EXIT_WAIT. True:
 * gv_process_outlived() is to be called if it lives on. Any thread, also in a signal handler; false
 * at once when it is ending already.
 */
bool gv_process_expect_death(int number);
void gv_process_outlived(void);

/* What CUPTI holds comes into the spool, within GPUVERIFY_EXIT_WAIT and a second, and recording
 * goes on. Any thread, also in a signal handler. */
void gv_process_fetch(void);

/* Registers what runs around a fork(). From the constructor: the locks are in use before any CUDA
 * call, by what compiled code registers with its libcudart. 0 or -errno. */
int gv_fork_watch_start(void);

/* Makes this process one that records, under a number that no other process of the session has.
 * 0 or -errno. */
int gv_fork_watch_set_token(uint64_t token);

/* Registers what runs when the process ends. 0 or -errno. */
int gv_process_watch_exit(void);

#endif
