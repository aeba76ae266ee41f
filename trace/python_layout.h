/*
 * Where a CPython interpreter has what a reader of its frames needs: the same inside of its process
 * and outside. Allocates nothing, locks nothing.
 */
#ifndef GV_TRACE_PYTHON_LAYOUT_H
#define GV_TRACE_PYTHON_LAYOUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
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
    uint16_t thread_codes; /* 0: a code's instructions are the same in all threads */
    uint16_t thread_code;
    uint16_t type; /* in an object, after what counts references; its other fields follow */
    bool is_free_threaded;
};

/* Before 3.12, the state of a thread that has not begun yet has the number of the thread that made
 * it, and is before that one's in the list. */
static inline bool gv_python_last_state_counts(const struct gv_python_layout *layout)
{
    return layout->minor < 12;
}

/* From 3.12 on the GIL is an interpreter's. */
#define GV_PYTHON_GIL_OF_INTERPRETER 12

/* CPython's struct _gil_runtime_state, the same in all versions on 64-bit Linux. In builds without
 * the GIL it comes after a word that says whether there is one all the same. */
#define GV_PYTHON_GIL_WORD_BYTES 8u
struct gv_python_gil_state {
    unsigned long interval_us;
    uintptr_t last_holder;
    int32_t locked;
    unsigned long switches;
    pthread_cond_t cond;
    pthread_mutex_t mutex;
    pthread_cond_t switch_cond;
    pthread_mutex_t switch_mutex;
};

/* Reads the memory of the interpreter's process. True: all of it. */
typedef bool gv_python_layout_read(void *context, void *to, uintptr_t from, size_t bytes);

/* Where objects have their type. `runtime`: the address of _PyRuntime. */
uint16_t gv_python_layout_type_at(uintptr_t runtime, gv_python_layout_read *read, void *context);

/* False: CPython 3.minor is not known, or does not look like it. */
bool gv_python_layout_find(long minor, uintptr_t runtime, gv_python_layout_read *read,
                           void *context, struct gv_python_layout *layout);

#endif
