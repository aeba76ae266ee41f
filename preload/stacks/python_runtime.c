#include "preload/stacks/python_runtime.h"

#include "preload/base/await.h"
#include "preload/base/log.h"
#include "preload/base/objects.h"
#include "preload/base/own_memory.h"
#include "preload/base/own_work.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define GV_PYTHON_COOKIE         "xdebugpy"
#define GV_PYTHON_FREE_THREADED  16 /* in the table of offsets */
#define GV_PYTHON_LARGEST_OFFSET 32768

/* In a type object, in all versions on 64-bit Linux. */
#define GV_PYTHON_TYPE_FLAGS 168
#define GV_PYTHON_TYPE_READY (UINT64_C(1) << 12)

#define GV_PYTHON_TRIES 5

enum gv_python_state {
    GV_PYTHON_UNKNOWN = 0, /* none so far; it may be loaded later */
    GV_PYTHON_LOOKING = 1,
    GV_PYTHON_FOUND = 2,
    GV_PYTHON_TRUSTED = 3,
    GV_PYTHON_FOREIGN = 4, /* of an unknown version */
    GV_PYTHON_DISTRUSTED = 5,
};

static _Atomic uint32_t state;
static _Atomic int inside;  /* threads between enter and leave */
static _Atomic int closing; /* threads in dlclose() */
static struct gv_python python;
static unsigned long long searched; /* gv_objects_changes() when any interpreter was looked for */
static bool is_starting;            /* one was found then that was not initialised */
static unsigned long long
    unloads; /* objects unmapped when it was found: any later unmapping may have been its own */

static const struct gv_python_layout layouts[] = {
#define GV_PYTHON_LAYOUT(...) {__VA_ARGS__},
#include "preload/stacks/python_layouts.def"
};

/* Positions of the offsets in CPython's own table. */
static const struct gv_python_layout debug_layouts[] = {
#define GV_PYTHON_DEBUG(minor, frame, previous, code, instruction, owner, first_line, filename,    \
                        name, qualname, line_table, code_bytes, ascii_bytes, ...)                  \
    {minor,    frame, GV_PYTHON_NONE, previous,   code,       instruction, owner,      first_line, \
     filename, name,  qualname,       line_table, code_bytes, ascii_bytes, __VA_ARGS__},
#include "preload/stacks/python_debug_offsets.def"
};

static bool read_offset(uintptr_t runtime, uint16_t at, uint16_t *offset)
{
    uint64_t value;

    if (!gv_own_memory_read(&value, runtime + at, sizeof value) || value > GV_PYTHON_LARGEST_OFFSET)
        return false;
    *offset = (uint16_t)value;
    return true;
}

/* A build without the GIL has instructions elsewhere, per thread. */
static bool read_debug_layout(uintptr_t runtime, const struct gv_python_layout *at,
                              struct gv_python_layout *layout)
{
    char cookie[8];
    uint64_t free_threaded;

    if (!gv_own_memory_read(cookie, runtime, sizeof cookie) ||
        memcmp(cookie, GV_PYTHON_COOKIE, sizeof cookie) != 0 ||
        !gv_own_memory_read(&free_threaded, runtime + GV_PYTHON_FREE_THREADED,
                            sizeof free_threaded) ||
        free_threaded)
        return false;
    layout->minor = at->minor;
    layout->cframe_frame = GV_PYTHON_NONE;
    return read_offset(runtime, at->frame, &layout->frame) &&
           read_offset(runtime, at->previous, &layout->previous) &&
           read_offset(runtime, at->code, &layout->code) &&
           read_offset(runtime, at->instruction, &layout->instruction) &&
           read_offset(runtime, at->owner, &layout->owner) &&
           read_offset(runtime, at->first_line, &layout->first_line) &&
           read_offset(runtime, at->filename, &layout->filename) &&
           read_offset(runtime, at->name, &layout->name) &&
           read_offset(runtime, at->qualname, &layout->qualname) &&
           read_offset(runtime, at->line_table, &layout->line_table) &&
           read_offset(runtime, at->code_bytes, &layout->code_bytes) &&
           read_offset(runtime, at->ascii_bytes, &layout->ascii_bytes) &&
           read_offset(runtime, at->interpreters, &layout->interpreters) &&
           read_offset(runtime, at->next_interpreter, &layout->next_interpreter) &&
           read_offset(runtime, at->threads, &layout->threads) &&
           read_offset(runtime, at->gil, &layout->gil) &&
           read_offset(runtime, at->gc, &layout->gc) &&
           read_offset(runtime, at->collecting, &layout->collecting) &&
           read_offset(runtime, at->next_thread, &layout->next_thread) &&
           read_offset(runtime, at->interpreter, &layout->interpreter) &&
           read_offset(runtime, at->thread_id, &layout->thread_id) &&
           read_offset(runtime, at->native_id, &layout->native_id);
}

/* "3.11.2 (main, ...)" */
static long minor_version(const struct gv_object *object)
{
    const char *(*get_version)(void);

    *(void **)&get_version = gv_object_symbol(object, "Py_GetVersion");
    const char *version = get_version ? get_version() : NULL;
    return version && strncmp(version, "3.", 2) == 0 ? strtol(version + 2, NULL, 10) : -1;
}

static bool find_layout(const struct gv_object *object, struct gv_python_layout *layout)
{
    uintptr_t runtime = (uintptr_t)gv_object_symbol(object, "_PyRuntime");
    long minor = minor_version(object);

    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].minor == minor) {
            *layout = layouts[i];
            return true;
        }
    for (size_t i = 0; i < sizeof debug_layouts / sizeof debug_layouts[0]; i++)
        if (debug_layouts[i].minor == minor)
            return runtime && read_debug_layout(runtime, &debug_layouts[i], layout);
    return false;
}

struct native {
    const uintptr_t *addresses; /* NULL: any interpreter will do */
    unsigned count;
};

static bool goes_through(const struct native *native, uintptr_t low, uintptr_t high)
{
    for (unsigned i = 0; i < native->count; i++)
        if (native->addresses[i] >= low && native->addresses[i] < high)
            return true;
    return false;
}

/* Another thread may just load it: its code can be called once it has prepared its types. */
static bool is_initialised(const struct gv_object *object)
{
    uintptr_t type = (uintptr_t)gv_object_symbol(object, "PyCode_Type");
    uint64_t flags;

    if (!type || !gv_object_symbol(object, "_PyRuntime"))
        return false;
    is_starting = !gv_own_memory_read(&flags, type + GV_PYTHON_TYPE_FLAGS, sizeof flags) ||
                  !(flags & GV_PYTHON_TYPE_READY);
    return !is_starting;
}

/* An interpreter in which this thread runs is relocated, and stays mapped. */
static bool is_python(const struct gv_object *object, void *context)
{
    const struct native *native = context;

    if (native->addresses ? !goes_through(native, object->low, object->high)
                          : !is_initialised(object))
        return false;
    python.runtime = (uintptr_t)gv_object_symbol(object, "_PyRuntime");
    *(void **)&python.thread_state = gv_object_symbol(object, "PyGILState_GetThisThreadState");
    python.code_type = (uintptr_t)gv_object_symbol(object, "PyCode_Type");
    python.text_type = (uintptr_t)gv_object_symbol(object, "PyUnicode_Type");
    python.low = object->low;
    python.high = object->high;
    return python.thread_state && python.code_type && python.text_type;
}

static uint32_t look(struct native *native)
{
    struct gv_object object;

    unloads = gv_objects_unloads();
    if (!native->addresses) {
        searched = gv_objects_changes();
        is_starting = false;
    }
    if (!gv_objects_visit(is_python, native))
        return GV_PYTHON_UNKNOWN;
    if (!gv_objects_at(python.code_type, &object) || !find_layout(&object, &python.layout)) {
        gv_log_info("no Python frames: the version of this interpreter is not supported");
        return GV_PYTHON_FOREIGN;
    }
    return GV_PYTHON_FOUND;
}

static bool go_in(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&closing) == 0)
        return true;
    atomic_fetch_sub(&inside, 1);
    return false;
}

/* `known`: UNKNOWN, or of an interpreter that may be gone. Threads inside still use that one. */
static void look_again(uint32_t known, struct native *native)
{
    uint32_t looking = GV_PYTHON_LOOKING;

    if (!atomic_compare_exchange_strong(&state, &known, GV_PYTHON_LOOKING))
        return;
    known = GV_PYTHON_UNKNOWN;
    if (go_in()) {
        known = gv_await(&inside, 1) ? look(native) : GV_PYTHON_DISTRUSTED;
        gv_python_runtime_leave();
    }
    /* It may have lost our trust meanwhile, which is final. */
    atomic_compare_exchange_strong(&state, &looking, known);
}

static bool is_there(uint32_t now)
{
    return (now == GV_PYTHON_FOUND || now == GV_PYTHON_TRUSTED) && unloads == gv_objects_unloads();
}

/* `native`: NULL: do not look for one */
static bool enter(struct gv_python *copy, struct native *native)
{
    for (int tries = 0; tries < GV_PYTHON_TRIES; tries++) {
        uint32_t now;

        if (!go_in())
            return false;
        now = atomic_load(&state);
        if (is_there(now)) {
            *copy = python;
            copy->trusted = now == GV_PYTHON_TRUSTED;
            return true;
        }
        gv_python_runtime_leave();
        if (!native || now >= GV_PYTHON_FOREIGN || (now == GV_PYTHON_UNKNOWN && tries > 0))
            return false;
        if (now == GV_PYTHON_LOOKING)
            sched_yield();
        else
            look_again(now, native);
    }
    return false;
}

bool gv_python_runtime_enter(struct gv_python *copy, const uintptr_t *addresses, unsigned count)
{
    struct native native = {addresses, count};

    return enter(copy, addresses ? &native : NULL);
}

bool gv_python_runtime_find(struct gv_python *copy)
{
    struct native any = {NULL, 0};

    if (!enter(copy, is_starting || searched != gv_objects_changes() ? &any : NULL))
        return false;
    gv_python_runtime_leave();
    return true;
}

void gv_python_runtime_leave(void)
{
    atomic_fetch_sub(&inside, 1);
}

void gv_python_runtime_start_over(void)
{
    uint32_t looking = GV_PYTHON_LOOKING;

    atomic_store(&inside, 0);
    atomic_store(&closing, 0);
    atomic_compare_exchange_strong(&state, &looking, GV_PYTHON_UNKNOWN);
}

void gv_python_runtime_trust(void)
{
    uint32_t found = GV_PYTHON_FOUND;

    atomic_compare_exchange_strong(&state, &found, GV_PYTHON_TRUSTED);
}

void gv_python_runtime_distrust(void)
{
    if (atomic_exchange(&state, GV_PYTHON_DISTRUSTED) != GV_PYTHON_DISTRUSTED)
        gv_log_info("no Python frames: the interpreter does not look as expected");
}

bool gv_python_runtime_is_distrusted(void)
{
    return atomic_load_explicit(&state, memory_order_relaxed) == GV_PYTHON_DISTRUSTED;
}

bool gv_python_runtime_is_missed(const uintptr_t *addresses, unsigned count)
{
    struct native native = {addresses, count};

    /* Nobody else changes `python` now. */
    return atomic_load(&state) >= GV_PYTHON_FOREIGN &&
           goes_through(&native, python.low, python.high);
}

void gv_python_runtime_begin_close(void)
{
    atomic_fetch_add(&closing, 1);
    if (atomic_load(&inside) == 0 || gv_python_runtime_is_distrusted())
        return;
    int saved_errno = gv_own_work_begin();
    /* A thread does not leave: no more Python frames, and no more waiting. */
    if (!gv_await(&inside, 0))
        gv_python_runtime_distrust();
    gv_own_work_end(saved_errno);
}

void gv_python_runtime_end_close(void)
{
    atomic_fetch_sub(&closing, 1);
}
