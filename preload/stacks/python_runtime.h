/*
 * The CPython interpreter in this process, if any: its version, its layout, and the state of the
 * calling thread. Nothing in it is changed, no Python code runs, and the GIL is neither taken nor
 * needed: a thread's frames are its own.
 *
 * Any thread. Allocates nothing. The loader's list is locked during the search for the interpreter.
 */
#ifndef GV_STACKS_PYTHON_RUNTIME_H
#define GV_STACKS_PYTHON_RUNTIME_H

#include "preload/stacks/python_memory.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_PYTHON_NONE UINT16_MAX

struct gv_python_layout {
    uint16_t minor;
    uint16_t frame;
    uint16_t cframe_frame;
    uint16_t previous;
    uint16_t code;
    uint16_t instruction;
    uint16_t owner;
    uint16_t first_line;
    uint16_t filename;
    uint16_t name;
    uint16_t qualname;
    uint16_t line_table;
    uint16_t code_bytes;
    uint16_t ascii_bytes;
    uint16_t interpreters;
    uint16_t next_interpreter;
    uint16_t threads;
    uint16_t gil;
    uint16_t gc;
    uint16_t collecting;
    uint16_t next_thread;
    uint16_t interpreter;
    uint16_t thread_id;
    uint16_t native_id;
};

struct gv_python {
    struct gv_python_layout layout;
    uintptr_t runtime; /* _PyRuntime */
    uintptr_t code_type;
    uintptr_t text_type;
    void *(*thread_state)(void);
    uintptr_t low; /* the object with the interpreter: [low, high) */
    uintptr_t high;
    bool trusted;                    /* the self-test passed */
    bool is_other;                   /* the frames are those of a thread that runs meanwhile */
    struct gv_python_memory *memory; /* the caller's */
};

/*
 * Finds the interpreter that a native stack goes through, unless it is known, and copies what is
 * known of it. False: none, an unknown version, or not trusted. Without a stack (NULL) it looks for
 * none.
 *
 * After true, and until gv_python_runtime_leave(), the interpreter stays mapped: a dlclose() waits.
 * Keep it short, and take no lock in between.
 */
bool gv_python_runtime_enter(struct gv_python *python, const uintptr_t *native, unsigned count);
void gv_python_runtime_leave(void);

/*
 * Finds an interpreter that is initialised, whoever runs in it, and copies what is known of it.
 * False as above. It may be unmapped at any time afterwards, so call nothing of it.
 */
bool gv_python_runtime_find(struct gv_python *python);

/* In a forked child: other threads are not here any more. */
void gv_python_runtime_start_over(void);

/* By a thread that has entered: this interpreter's frames look as expected. */
void gv_python_runtime_trust(void);

/* They do not: take no more of them in this process. */
void gv_python_runtime_distrust(void);
bool gv_python_runtime_is_distrusted(void);

/* This native stack goes through an interpreter whose frames are unknown or not trusted. */
bool gv_python_runtime_is_missed(const uintptr_t *native, unsigned count);

/* Put these around a dlclose(): nobody is inside meanwhile. Waits for others, but not for ever. */
void gv_python_runtime_begin_close(void);
void gv_python_runtime_end_close(void);

#endif
