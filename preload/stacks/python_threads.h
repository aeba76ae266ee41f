/*
 * What Python does in threads other than the caller, in this process or in one that it started.
 * For the one thread of ours that looks at the program's threads.
 *
 * Calls nothing of Python, takes no lock, and stops nobody: everything is read through the Linux
 * kernel while it changes, so what does not look as expected, or changed meanwhile, is left out.
 */
#ifndef GV_STACKS_PYTHON_THREADS_H
#define GV_STACKS_PYTHON_THREADS_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Python's global interpreter lock. */
struct gv_python_gil {
    bool is_known;   /* false: no interpreter, not as expected, or it has none (free-threaded) */
    uint32_t holder; /* thread id; 0: nobody, or unknown */
    uintptr_t low;   /* a thread in futex() on an address in [low, high) waits for the GIL */
    uintptr_t high;
    bool collects; /* the garbage collector runs, in the holder */
};

/*
 * Begins a look at this process (pid 0), or at a descendant that runs the same interpreter file.
 * False: no Python there, or it cannot be read. End each look that was begun; one at a time, always
 * by the same thread.
 */
bool gv_python_look_begin(uint32_t pid, struct gv_python_gil *gil);

/* The number of a STACK record with the Python frames of a thread of that process. It is written if
 * it is new, as part of the writer's group, which continues. 0: it runs no Python, or there is no
 * room. */
uint32_t gv_python_look_stack(struct gv_thread *writer, uint32_t tid);

/* The ids of threads of that process that run Python, `most` at most. Returns how many. */
unsigned gv_python_look_threads(uint32_t *tids, unsigned most);

void gv_python_look_end(void);

#endif
