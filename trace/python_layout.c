#include "trace/python_layout.h"

#include <string.h>

#define GV_PYTHON_COOKIE         "xdebugpy"
#define GV_PYTHON_FREE_THREADED  16 /* in the table of offsets */
#define GV_PYTHON_LARGEST_OFFSET 32768

/* In an object. */
#define GV_PYTHON_TYPE               8
#define GV_PYTHON_TYPE_FREE_THREADED 24

struct memory {
    gv_python_layout_read *read;
    void *context;
};

static const struct gv_python_layout layouts[] = {
#define GV_PYTHON_LAYOUT(...) {__VA_ARGS__, 0, 0, GV_PYTHON_TYPE, false},
#include "trace/python_layouts.def"
};

/* Positions of the offsets in CPython's own table. */
static const struct gv_python_layout debug_layouts[] = {
#define GV_PYTHON_DEBUG(minor, frame, previous, code, instruction, owner, first_line, filename,    \
                        name, qualname, line_table, code_bytes, ascii_bytes, ...)                  \
    {minor,      frame,       GV_PYTHON_NONE, previous,       code,     instruction,               \
     owner,      first_line,  filename,       name,           qualname, line_table,                \
     code_bytes, ascii_bytes, __VA_ARGS__,    GV_PYTHON_TYPE, false},
#include "trace/python_debug_offsets.def"
};

static bool read_offset(const struct memory *memory, uintptr_t runtime, uint16_t at,
                        uint16_t *offset)
{
    uint64_t value;

    if (!memory->read(memory->context, &value, runtime + at, sizeof value) ||
        value > GV_PYTHON_LARGEST_OFFSET)
        return false;
    *offset = (uint16_t)value;
    return true;
}

static bool has_debug_offsets(const struct memory *memory, uintptr_t runtime)
{
    char cookie[8];

    return memory->read(memory->context, cookie, runtime, sizeof cookie) &&
           memcmp(cookie, GV_PYTHON_COOKIE, sizeof cookie) == 0;
}

static bool is_free_threaded(const struct memory *memory, uintptr_t runtime)
{
    uint64_t flag;

    return has_debug_offsets(memory, runtime) &&
           memory->read(memory->context, &flag, runtime + GV_PYTHON_FREE_THREADED, sizeof flag) &&
           flag;
}

/* Where objects have their type. */
static uint16_t type_at(const struct memory *memory, uintptr_t runtime)
{
    return is_free_threaded(memory, runtime) ? GV_PYTHON_TYPE_FREE_THREADED : GV_PYTHON_TYPE;
}

static bool read_debug_layout(const struct memory *memory, uintptr_t runtime,
                              const struct gv_python_layout *at, struct gv_python_layout *layout)
{
    if (!has_debug_offsets(memory, runtime))
        return false;
    layout->type = type_at(memory, runtime);
    layout->is_free_threaded = is_free_threaded(memory, runtime);
    layout->thread_codes = layout->thread_code = 0;
    if (layout->is_free_threaded && at->thread_codes &&
        !(read_offset(memory, runtime, at->thread_codes, &layout->thread_codes) &&
          read_offset(memory, runtime, at->thread_code, &layout->thread_code)))
        return false;
    layout->minor = at->minor;
    layout->cframe_frame = GV_PYTHON_NONE;
    return read_offset(memory, runtime, at->frame, &layout->frame) &&
           read_offset(memory, runtime, at->previous, &layout->previous) &&
           read_offset(memory, runtime, at->code, &layout->code) &&
           read_offset(memory, runtime, at->instruction, &layout->instruction) &&
           read_offset(memory, runtime, at->owner, &layout->owner) &&
           read_offset(memory, runtime, at->first_line, &layout->first_line) &&
           read_offset(memory, runtime, at->filename, &layout->filename) &&
           read_offset(memory, runtime, at->name, &layout->name) &&
           read_offset(memory, runtime, at->qualname, &layout->qualname) &&
           read_offset(memory, runtime, at->line_table, &layout->line_table) &&
           read_offset(memory, runtime, at->code_bytes, &layout->code_bytes) &&
           read_offset(memory, runtime, at->ascii_bytes, &layout->ascii_bytes) &&
           read_offset(memory, runtime, at->interpreters, &layout->interpreters) &&
           read_offset(memory, runtime, at->next_interpreter, &layout->next_interpreter) &&
           read_offset(memory, runtime, at->threads, &layout->threads) &&
           read_offset(memory, runtime, at->gil, &layout->gil) &&
           read_offset(memory, runtime, at->gc, &layout->gc) &&
           read_offset(memory, runtime, at->collecting, &layout->collecting) &&
           read_offset(memory, runtime, at->next_thread, &layout->next_thread) &&
           read_offset(memory, runtime, at->interpreter, &layout->interpreter) &&
           read_offset(memory, runtime, at->thread_id, &layout->thread_id) &&
           read_offset(memory, runtime, at->native_id, &layout->native_id);
}

uint16_t gv_python_layout_type_at(uintptr_t runtime, gv_python_layout_read *read, void *context)
{
    return type_at(&(const struct memory){read, context}, runtime);
}

bool gv_python_layout_find(long minor, uintptr_t runtime, gv_python_layout_read *read,
                           void *context, struct gv_python_layout *layout)
{
    const struct memory memory = {read, context};

    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].minor == minor) {
            *layout = layouts[i];
            return true;
        }
    for (size_t i = 0; i < sizeof debug_layouts / sizeof debug_layouts[0]; i++)
        if (debug_layouts[i].minor == minor)
            return runtime && read_debug_layout(&memory, runtime, &debug_layouts[i], layout);
    return false;
}
