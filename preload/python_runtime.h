/*
 * The CPython interpreter in this process, if there is one: its version, where it keeps things, and
 * the state of the calling thread. Nothing is changed in it, no Python code is run, and the GIL is
 * neither taken nor needed: a thread's frames are its own.
 *
 * Any thread. Nothing is allocated; the loader's lock is held while the interpreter is looked for.
 */
#ifndef GV_PRELOAD_PYTHON_RUNTIME_H
#define GV_PRELOAD_PYTHON_RUNTIME_H

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
};

struct gv_python {
    struct gv_python_layout layout;
    uintptr_t code_type;
    uintptr_t text_type;
    void *(*thread_state)(void);
    uintptr_t low; /* the object that holds the interpreter: [low, high) */
    uintptr_t high;
};

/* NULL: there is none, none that is known, or its self-test failed. */
const struct gv_python *gv_python_runtime(void);

/* Frames did not look as they should: no more of them in this process. */
void gv_python_runtime_distrust(void);

#endif
