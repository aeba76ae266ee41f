/* Looks at the Python interpreter of this process, or of a descendant, from a thread of ours. */
#ifndef GV_STACKS_PYTHON_THREADS_H
#define GV_STACKS_PYTHON_THREADS_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* What a look at the interpreter of a process says. One user: the idle thread. */
struct gv_python_gil {
    bool is_known;       /* false: no interpreter, not trusted, or free-threaded (no GIL) */
    uint32_t holder;     /* tid; 0: nobody, or unknown */
    uintptr_t low, high; /* a thread in futex() on an address in [low, high) waits for the GIL */
    bool collects;       /* the garbage collector runs, in the holder */
};

/* Begins a look at this process (pid 0) or at a descendant `pid` that runs the same interpreter
 * file. False: no Python there; then do not call the other two. */
bool gv_python_look_begin(uint32_t pid, struct gv_python_gil *gil);

/* The number of a STACK record with the Python frames of a thread of that process, written into
 * `writer`'s spool group if new; 0: runs no Python. */
uint32_t gv_python_look_stack(struct gv_thread *writer, uint32_t tid);

void gv_python_look_end(void);

#endif
