/*
 * The processes that descend from this one, and which of them works. One thread uses it.
 */
#ifndef GV_IDLE_CHILDREN_H
#define GV_IDLE_CHILDREN_H

#include "trace/thread_state.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_CHILDREN_MOST 64u

struct gv_child {
    struct gv_thread_state state; /* of its first thread */
    uint32_t pid;
    uint64_t ran_ns; /* since the search before; all its threads, to 10 ms */
    uint64_t delay_ns;
    bool works;     /* it ran, or waits for something other than work */
    bool is_python; /* the next two are the caller's */
    uint32_t stack;
};

/* Forgets all: a forked child has none of its parent's. */
void gv_children_start_over(void);

/* Whether this process has a child at all. One system call; reaps nothing. */
bool gv_children_exist(void);

/* Finds at most GV_CHILDREN_MOST of them, but not `except`, `span_ns` after the search before.
 * Their number; *children is valid until the next search. Reads some files of /proc for each. */
unsigned gv_children_search(uint64_t span_ns, uint32_t except, struct gv_child **children);

/* Adds the process numbers of a text of /proc/PID/task/TID/children. The new count, at most
 * `most`. */
unsigned gv_children_parse(const char *text, uint32_t *pids, unsigned count, unsigned most);

#endif
