#include "report/look/python.h"

#include "report/collect/python_lines.h"
#include "report/look/symbols.h"
#include "trace/futex.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS_MOST   8 /* that may be Python, by name */
#define INTERPRETERS   16u
#define STEPS          4096u /* from frame to frame */
#define TABLE_MOST     65536u
#define LOW            (1u << 20) /* below is no object */
#define TRIES          3
#define FRAMES_MOST_NS 100000000u /* of a thread at one look */
#define COPY_MOST_NS   500000u    /* while it is stopped */
#define PTHREAD_BYTES  1024u      /* in which glibc has a thread's number */

/* False also when it takes too long: nobody can let it read for ever. */
static bool read_in(const struct gv_look_python *python, void *to, uintptr_t from, size_t bytes)
{
    const struct gv_look_python_copy *copy = python->read_from;

    if (copy && from >= copy->at && from - copy->at + bytes <= python->head_bytes) {
        memcpy(to, copy->head + (from - copy->at), bytes);
        return true;
    }
    return from >= LOW && (!python->late_ns || gv_monotonic_ns() < python->late_ns) &&
           gv_outside_read(python->pid, to, from, bytes);
}

static bool read_at(void *context, void *to, uintptr_t from, size_t bytes)
{
    return read_in(context, to, from, bytes);
}

#define GV_PYTHON_MEMORY const struct gv_look_python *
#define GV_PYTHON_READ   read_in
#include "trace/python_read.h"

/* ---- the interpreter ---- */

/* "3.10" in "/usr/lib/libpython3.10.so.1.0"; -1: none. */
static long minor_in(const char *path)
{
    const char *at = path ? strstr(path, "python3.") : NULL;

    return at ? strtol(at + strlen("python3."), NULL, 10) : -1;
}

/* CPython says it from 3.11 on; before, its files do. */
static long minor_of(const struct gv_look_python *python, const struct gv_symbols *symbols,
                     const struct gv_outside_objects *objects, const char *path)
{
    uint64_t at = gv_symbols_address(symbols, "Py_Version");
    unsigned long version = 0;
    long minor = minor_in(gv_text_base(path));

    if (at && read_in(python, &version, at, sizeof(version)) && version >> 24 == 3)
        return version >> 16 & 0xff;
    for (size_t i = 0; i < objects->count && minor < 0; i++)
        minor = minor_in(objects->object[i].path);
    return minor;
}

int gv_look_python_find(uint32_t pid, const struct gv_outside_objects *objects,
                        struct gv_look_python *python)
{
    int error = -ENOENT, tries = 0;

    memset(python, 0, sizeof(*python));
    python->pid = pid;
    for (size_t i = 0; i < objects->count && error == -ENOENT; i++) {
        const struct gv_outside_object *object = &objects->object[i];
        const char *name = gv_text_base(object->path);
        struct gv_symbols symbols;
        /* It is in the program itself, which a loader may have loaded, or in libpython. */
        if (!name ||
            (i > 0 && strncmp(name, "python", 6) != 0 && strncmp(name, "libpython", 9) != 0))
            continue;
        if (tries++ == OBJECTS_MOST)
            break;
        error = gv_symbols_read(pid, object, &symbols);
        python->runtime = error ? 0 : gv_symbols_address(&symbols, "_PyRuntime");
        if (!error && python->runtime) {
            python->code_type = gv_symbols_address(&symbols, "PyCode_Type");
            python->text_type = gv_symbols_address(&symbols, "PyUnicode_Type");
            python->bytes_type = gv_symbols_address(&symbols, "PyBytes_Type");
            python->low = object->low;
            python->high = object->high;
            if (!gv_python_layout_find(minor_of(python, &symbols, objects, object->path),
                                       python->runtime, read_at, python, &python->layout))
                error = -ENOTSUP;
        } else if (!error) {
            error = -ENOENT;
        }
        gv_symbols_free(&symbols);
    }
    if (error)
        python->low = python->high = 0;
    return error;
}

/* ---- threads, and the GIL ---- */

static bool is_among(const uint32_t *tids, size_t count, uint32_t tid)
{
    for (size_t i = 0; i < count; i++)
        if (tids[i] == tid)
            return true;
    return false;
}

/* 0: it is not known. */
static uint32_t tid_of(const struct gv_look_python *python, uintptr_t state, const uint32_t *tids,
                       size_t count)
{
    uint32_t words[PTHREAD_BYTES / sizeof(uint32_t)];
    uintptr_t value;

    if (python->layout.native_id != GV_PYTHON_NONE)
        return gv_python_read_pointer(python, state + python->layout.native_id, &value)
                   ? (uint32_t)value
                   : 0;
    if (!gv_python_read_pointer(python, state + python->layout.thread_id, &value) ||
        !read_in(python, words, value, sizeof(words)))
        return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_among(tids, count, words[i]))
            return words[i];
    return 0;
}

static void read_gil(struct gv_look_python *python, uintptr_t interpreter)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t at = python->runtime + layout->gil;
    int32_t is_used = 1, collecting = 0;
    struct gv_python_gil_state gil;

    python->knows_gil = python->collects = false;
    python->holder = 0;
    python->gil_low = python->gil_high = 0;
    if (layout->minor >= GV_PYTHON_GIL_OF_INTERPRETER &&
        !gv_python_read_pointer(python, interpreter + layout->gil, &at))
        return;
    if (layout->is_free_threaded) {
        if (!read_in(python, &is_used, at, sizeof(is_used)) || !is_used)
            return;
        at += GV_PYTHON_GIL_WORD_BYTES;
    }
    if (!read_in(python, &gil, at, offsetof(struct gv_python_gil_state, cond)) || gil.locked < -1 ||
        gil.locked > 1)
        return;
    python->knows_gil = true;
    python->gil_low = at;
    python->gil_high = at + sizeof(gil);
    for (size_t i = 0; i < python->threads && gil.locked == 1; i++)
        if (python->thread[i].state == gil.last_holder)
            python->holder = python->thread[i].tid;
    python->collects = python->holder &&
                       read_in(python, &collecting, interpreter + layout->gc + layout->collecting,
                               sizeof(collecting)) &&
                       collecting == 1;
}

void gv_look_python_threads(struct gv_look_python *python, const uint32_t *tids, size_t count)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t interpreter, state, main_one = 0;

    python->threads = 0;
    if (!python->low ||
        !gv_python_read_pointer(python, python->runtime + layout->interpreters, &interpreter))
        return;
    for (unsigned i = 0; i < INTERPRETERS && interpreter; i++) {
        main_one = interpreter; /* it comes last */
        if (!gv_python_read_pointer(python, interpreter + layout->threads, &state))
            break;
        for (unsigned steps = 0;
             state && steps < GV_LOOK_PYTHON_THREADS && python->threads < GV_LOOK_PYTHON_THREADS;
             steps++) {
            python->thread[python->threads].tid = tid_of(python, state, tids, count);
            python->thread[python->threads++].state = state;
            if (!gv_python_read_pointer(python, state + layout->next_thread, &state))
                break;
        }
        if (!gv_python_read_pointer(python, interpreter + layout->next_interpreter, &interpreter))
            break;
    }
    if (main_one)
        read_gil(python, main_one);
}

/* ---- frames ---- */

static bool read_text(const struct gv_look_python *python, uintptr_t at,
                      char out[GV_LOOK_PYTHON_TEXT_BYTES])
{
    unsigned char raw[GV_LOOK_PYTHON_TEXT_BYTES];
    char whole[sizeof(raw)];
    struct gv_python_text text;
    size_t used;

    if (!gv_python_find_text(&python->layout, python, python->text_type, at, &text) ||
        !gv_python_read_text(python, &text, raw, whole, sizeof(raw), &used))
        return false;
    gv_text_repair(out, GV_LOOK_PYTHON_TEXT_BYTES, whole, used);
    return true;
}

static int32_t read_line(const struct gv_look_python *python, uintptr_t lines, int32_t first,
                         uint32_t instruction)
{
    int32_t line = first;
    uintptr_t at;
    size_t bytes;

    if (!gv_python_find_bytes(&python->layout, python, python->bytes_type, lines, &at, &bytes) ||
        bytes == 0 || bytes > TABLE_MOST)
        return line;
    uint8_t *data = malloc(bytes);
    if (data && read_in(python, data, at, bytes)) {
        const struct gv_python_table table = {data, bytes, python->layout.minor, first};
        line = gv_python_line(&table, instruction);
    }
    free(data);
    return line;
}

static bool read_frame(const struct gv_look_python *python, uintptr_t at,
                       struct gv_look_python_frame *frame)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t code, type, file, function, lines;
    uint32_t instruction;
    int32_t first;

    if (!gv_python_read_code(layout, python, at, &code) ||
        !gv_python_read_instruction(layout, python, at, code, &instruction) ||
        !gv_python_read_pointer(python, code + layout->type, &type) || type != python->code_type ||
        !read_in(python, &first, code + layout->first_line, sizeof(first)) || first < 0 ||
        !gv_python_read_pointer(python, code + layout->filename, &file) ||
        !gv_python_read_pointer(python, code + gv_python_name_at(layout), &function) ||
        !gv_python_read_pointer(python, code + layout->line_table, &lines) ||
        !read_text(python, file, frame->file) || !read_text(python, function, frame->function))
        return false;
    frame->line = read_line(python, lines, first, instruction);
    return true;
}

static bool is_of_c(const struct gv_look_python *python, uintptr_t frame)
{
    uint8_t owner;

    return gv_python_has_frames_of_c(&python->layout) &&
           read_in(python, &owner, frame + python->layout.owner, sizeof(owner)) &&
           owner >= GV_PYTHON_OWNED_BY_C;
}

static uintptr_t state_of(const struct gv_look_python *python, uint32_t tid)
{
    bool is_last = gv_python_last_state_counts(&python->layout);
    uintptr_t state = 0;

    for (size_t i = 0; i < python->threads && (!state || is_last); i++)
        if (tid && python->thread[i].tid == tid)
            state = python->thread[i].state;
    return state;
}

/* 0: more than a copy has room for. */
static size_t head_bytes(const struct gv_python_layout *layout)
{
    const uint16_t fields[] = {layout->previous, layout->code, layout->instruction, layout->owner,
                               layout->thread_code};
    size_t bytes = 0;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i] != GV_PYTHON_NONE && fields[i] + sizeof(uintptr_t) > bytes)
            bytes = fields[i] + sizeof(uintptr_t);
    return bytes <= GV_LOOK_PYTHON_HEAD_BYTES ? bytes : 0;
}

void gv_look_python_copy(struct gv_look_python *python, uint32_t tid)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t state = state_of(python, tid), at;

    python->head_bytes = head_bytes(layout);
    python->copied_tid = 0;
    python->copies = 0;
    if (!state || !python->head_bytes || !gv_python_read_innermost(layout, python, state, &at))
        return;
    python->copied_tid = tid;
    python->late_ns = gv_monotonic_ns() + COPY_MOST_NS;
    while (at && python->copies < GV_LOOK_PYTHON_COPIES) {
        struct gv_look_python_copy *copy = &python->copy[python->copies];
        if (!read_in(python, copy->head, at, python->head_bytes))
            break;
        copy->at = at;
        python->copies++;
        memcpy(&at, copy->head + layout->previous, sizeof(at));
    }
    python->late_ns = 0;
}

/* While the thread runs, the chain may lead into a frame that is left meanwhile: it then has no
 * caller, but is not what the thread began with. */
static bool is_left(const struct gv_look_python *python, uintptr_t outermost)
{
    uint8_t owner;

    if (python->layout.minor < 11 || python->layout.owner == GV_PYTHON_NONE || !outermost)
        return false;
    if (gv_python_has_frames_of_c(&python->layout))
        return !is_of_c(python, outermost);
    return !read_in(python, &owner, outermost + python->layout.owner, sizeof(owner)) ||
           owner == GV_PYTHON_OWNED_BY_A_VALUE;
}

static bool walk(struct gv_look_python *python, uintptr_t state, size_t copies,
                 struct gv_look_python_frame *frames, size_t *count)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t at = copies ? python->copy[0].at : 0, outermost = 0;

    *count = 0;
    if (!at && !gv_python_read_innermost(layout, python, state, &at))
        return false;
    for (unsigned steps = 0; at && steps < STEPS && *count < GV_LOOK_PYTHON_FRAMES; steps++) {
        python->read_from = steps < copies ? &python->copy[steps] : NULL;
        outermost = at;
        if (!is_of_c(python, at)) {
            if (!read_frame(python, at, &frames[*count]))
                return false;
            /* Code of the interpreter without a line is shown by Python neither. */
            *count += frames[*count].line > 0 || frames[*count].file[0] != '<';
        }
        if (!gv_python_read_pointer(python, at + layout->previous, &at))
            return false;
    }
    return at || !is_left(python, outermost);
}

size_t gv_look_python_frames(struct gv_look_python *python, uint32_t tid,
                             struct gv_look_python_frame frames[GV_LOOK_PYTHON_FRAMES])
{
    uintptr_t state = state_of(python, tid);
    size_t copies = tid && python->copied_tid == tid ? python->copies : 0, count = 0;
    bool is_whole = false;

    python->copied_tid = 0;
    python->late_ns = gv_monotonic_ns() + FRAMES_MOST_NS;
    /* While it runs, a walk may end in what is not a frame any more. */
    for (int tries = 0; state && !is_whole && tries < TRIES; tries++) {
        is_whole = walk(python, state, tries ? 0 : copies, frames, &count);
        python->read_from = NULL;
    }
    python->late_ns = 0;
    return is_whole ? count : 0;
}
