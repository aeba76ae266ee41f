/*
 * The steps that attach a process to a session. The thread that makes its first CUDA call runs each
 * once. Each returns 0 or -errno, and leaves nothing behind on an error.
 */
#ifndef GV_PROCESS_ATTACH_H
#define GV_PROCESS_ATTACH_H

#include "preload/base/own_process.h"

/* Chooses the spool directory, opens or makes the session file, and makes the spool. `*lock_fd`
 * is the locked session file if this process must start the collector, otherwise -1. -ECANCELED:
 * a message has given the reason. */
int gv_session_join(struct gv_process *process, int *lock_fd);

/* Starts the collector, detached, and gives it the lock. Always closes `lock_fd`. Prints a warning
 * if that fails: the records stay in shared memory. */
void gv_collector_start(const struct gv_process *process, int lock_fd);

/* Writes facts about the process into the spool. */
/* The process has a context now. */
void gv_process_note_environment(void);
void gv_process_describe(struct gv_spool_header *header);

/* "train" for python3 train.py, otherwise the name of the program. */
void gv_process_program_name(char *name, size_t bytes);

/*
 * The process sends itself a signal that should end it. Fetches what CUPTI has, within a second,
 * and waits until everything is in the trace, within GPUVERIFY_EXIT_WAIT. True: call
 * gv_process_outlived() if it survives. Any thread, also in a signal handler. False at once if it
 * is already ending.
 */
bool gv_process_expect_death(int number);
void gv_process_outlived(void);

/* Fetches what CUPTI has, within GPUVERIFY_EXIT_WAIT and a second; recording continues. Any
 * thread, also in a signal handler. */
void gv_process_fetch(void);

/* Registers the handlers around a fork(). From the constructor, because compiled code uses the
 * locks before any CUDA call. 0 or -errno. */
int gv_fork_watch_start(void);

/* Makes this process a recording one, with a token that no other process of the session has. */
void gv_fork_watch_set_token(uint64_t token);

/* Registers the handlers of the process's end. 0 or -errno. */
int gv_process_watch_exit(void);

/* The process has just begun to record: stops that at once if it has said so, or else if its
 * session says so. */
void gv_control_begin(void);

#endif
