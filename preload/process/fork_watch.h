/*
 * What a fork() does to us: the child must find that nothing here is its own, and no lock held by a
 * thread that it does not have.
 */
#ifndef GV_PROCESS_FORK_WATCH_H
#define GV_PROCESS_FORK_WATCH_H

#include <stdint.h>

/* Registers the handlers. From the constructor: the locks are in use before any CUDA call, by what
 * compiled code registers with its libcudart. 0 or -errno. */
int gv_fork_watch_start(void);

/* Makes this process one that records, under a number that no other process of the session has.
 * 0 or -errno. */
int gv_fork_watch_set_token(uint64_t token);

#endif
