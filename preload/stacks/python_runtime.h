/*
 * The CPython interpreter in this process, if any: its version, its layout, and the state of the
 * calling thread. Nothing in it is changed, no Python code runs, and the GIL is neither taken nor
 * needed: a thread's frames are its own.
 *
 * Any thread. Allocates nothing. The search for an interpreter locks the loader's list, but does
 * not wait for another thread that has it locked.
 */
#ifndef GV_STACKS_PYTHON_RUNTIME_H
#define GV_STACKS_PYTHON_RUNTIME_H

#include "preload/stacks/python_memory.h"
#include "trace/python_layout.h"

#include <stdbool.h>
#include <stdint.h>

/* How the frames of the calling thread are read. */
enum gv_python_way {
    GV_PYTHON_THROUGH_KERNEL,
    GV_PYTHON_BOTH_WAYS, /* do they agree? */
    GV_PYTHON_DIRECTLY,
};
#define GV_PYTHON_MUST_AGREE 16u /* stacks */

struct gv_python {
    struct gv_python_layout layout;
    uintptr_t runtime; /* _PyRuntime */
    uintptr_t code_type;
    uintptr_t text_type;
    uintptr_t bytes_type;
    void *(*thread_state)(void);
    uintptr_t low; /* the object with the interpreter: [low, high) */
    uintptr_t high;
    bool is_readable; /* its version is known, and nothing was unexpected */
    bool trusted;     /* the self-test passed */
    enum gv_python_way way;
    uint32_t pid;                    /* of another process; 0: this one */
    struct gv_python_memory *memory; /* the caller's; NULL: it is read directly */
};

/*
 * Finds an interpreter that is initialised, unless it is known, and copies what is known of it.
 * False: none. It is searched again only after objects were loaded.
 *
 * After true, and until gv_python_runtime_leave(), the interpreter stays mapped: a dlclose() waits.
 * Keep it short, and take no lock in between. `tid`: the calling thread; 0: any.
 */
bool gv_python_runtime_enter(struct gv_python *python, uint32_t tid);
void gv_python_runtime_leave(void);

/* The same without entering, and false also if it is not readable. It may be unmapped at any time
 * afterwards, so call nothing of it. */
bool gv_python_runtime_find(struct gv_python *python);

/* In a forked child: other threads are not here any more. */
void gv_python_runtime_start_over(void);

/* By a thread that has entered: this interpreter's frames look as expected. */
void gv_python_runtime_trust(void);

/* They do not: take no more of them in this process. */
void gv_python_runtime_distrust(void);

/* Whether a stack was the same both ways, or could be read directly. After GV_PYTHON_MUST_AGREE
 * that were, the main thread's are read directly; after one that was not, none is any more. */
void gv_python_runtime_agrees(bool agrees);

/* Put these around a dlclose(): nobody is inside meanwhile. Waits for others, but not for ever. */
void gv_python_runtime_begin_close(void);
void gv_python_runtime_end_close(void);

#endif
