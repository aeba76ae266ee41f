#include "preload/python_runtime.h"

#include "preload/log.h"
#include "preload/objects.h"
#include "preload/own_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define GV_PYTHON_COOKIE         "xdebugpy"
#define GV_PYTHON_FREE_THREADED  16 /* in the table of offsets */
#define GV_PYTHON_LARGEST_OFFSET 4096

enum gv_python_state {
    GV_PYTHON_UNKNOWN = 0,
    GV_PYTHON_LOOKING = 1,
    GV_PYTHON_THERE = 2,
    GV_PYTHON_DISTRUSTED = 3,
};

static _Atomic uint32_t state;
static struct gv_python python;

static const struct gv_python_layout layouts[] = {
#define GV_PYTHON_LAYOUT(...) {__VA_ARGS__},
#include "preload/python_layouts.def"
};

/* Not offsets, but where they stand in CPython's own table. */
static const struct gv_python_layout debug_layouts[] = {
#define GV_PYTHON_DEBUG(minor, frame, previous, code, instruction, owner, first_line, filename,    \
                        name, qualname, line_table, code_bytes, ascii_bytes)                       \
    {minor,      frame,    GV_PYTHON_NONE, previous, code,       instruction, owner,               \
     first_line, filename, name,           qualname, line_table, code_bytes,  ascii_bytes},
#include "preload/python_debug_offsets.def"
};

static bool read_offset(uintptr_t runtime, uint16_t at, uint16_t *offset)
{
    uint64_t value;

    if (!gv_own_memory_read(&value, runtime + at, sizeof value) || value > GV_PYTHON_LARGEST_OFFSET)
        return false;
    *offset = (uint16_t)value;
    return true;
}

/* A build without the GIL keeps instructions elsewhere, for each thread. */
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
           read_offset(runtime, at->ascii_bytes, &layout->ascii_bytes);
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

static bool is_python(const struct gv_object *object, void *context)
{
    (void)context;
    *(void **)&python.thread_state = gv_object_symbol(object, "PyGILState_GetThisThreadState");
    python.code_type = (uintptr_t)gv_object_symbol(object, "PyCode_Type");
    python.text_type = (uintptr_t)gv_object_symbol(object, "PyUnicode_Type");
    python.low = object->low;
    python.high = object->high;
    return python.thread_state && python.code_type && python.text_type;
}

static uint32_t look(void)
{
    struct gv_object object;

    if (!gv_objects_visit(is_python, NULL))
        return GV_PYTHON_UNKNOWN; /* it may be loaded later */
    if (!gv_objects_at(python.code_type, &object) || !find_layout(&object, &python.layout)) {
        gv_log_info("no Python frames: this interpreter is not known");
        return GV_PYTHON_DISTRUSTED;
    }
    return GV_PYTHON_THERE;
}

const struct gv_python *gv_python_runtime(void)
{
    uint32_t now = atomic_load_explicit(&state, memory_order_acquire);

    if (now == GV_PYTHON_UNKNOWN &&
        atomic_compare_exchange_strong(&state, &now, GV_PYTHON_LOOKING)) {
        now = look();
        atomic_store_explicit(&state, now, memory_order_release);
    }
    return now == GV_PYTHON_THERE ? &python : NULL;
}

void gv_python_runtime_distrust(void)
{
    if (atomic_exchange(&state, GV_PYTHON_DISTRUSTED) == GV_PYTHON_THERE)
        gv_log_info("no Python frames: the interpreter does not look as expected");
}
