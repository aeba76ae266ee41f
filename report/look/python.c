#include "report/look/python.h"

#include "report/collect/python_lines.h"
#include "report/look/symbols.h"
#include "trace/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INTERPRETERS  16u
#define STEPS         4096u /* from frame to frame */
#define TABLE_MOST    65536u
#define LONGEST_TEXT  (1 << 20)
#define LOW           (1u << 20) /* below is no object */
#define TRIES         3
#define PTHREAD_BYTES 1024u /* in which glibc has a thread's number */

/* As in preload/stacks: the same in all versions on 64-bit Linux. */
#define BYTES_DATA    24
#define OWNED_BY_C    3
#define TAG_BITS      3u
#define INTERNED_BYTE 14

static bool read_at(void *context, void *to, uintptr_t from, size_t bytes)
{
    const struct gv_look_python *python = context;

    return from >= LOW && gv_outside_read(python->pid, to, from, bytes);
}

static bool read_in(const struct gv_look_python *python, void *to, uintptr_t from, size_t bytes)
{
    return from >= LOW && gv_outside_read(python->pid, to, from, bytes);
}

static bool read_pointer(const struct gv_look_python *python, uintptr_t from, uintptr_t *value)
{
    return read_in(python, value, from, sizeof(*value));
}

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
    int error = -ENOENT;

    memset(python, 0, sizeof(*python));
    python->pid = pid;
    for (size_t i = 0; i < objects->count && error == -ENOENT; i++) {
        const struct gv_outside_object *object = &objects->object[i];
        const char *name = gv_text_base(object->path);
        struct gv_symbols symbols;
        /* It is in the program itself, or in libpython. */
        if (!name || (i > 0 && !strstr(name, "python")))
            continue;
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
        return read_pointer(python, state + python->layout.native_id, &value) ? (uint32_t)value : 0;
    if (!read_pointer(python, state + python->layout.thread_id, &value) ||
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
        !read_pointer(python, interpreter + layout->gil, &at))
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
    if (!python->low || !read_pointer(python, python->runtime + layout->interpreters, &interpreter))
        return;
    for (unsigned i = 0; i < INTERPRETERS && interpreter; i++) {
        main_one = interpreter; /* it comes last */
        if (!read_pointer(python, interpreter + layout->threads, &state))
            break;
        for (unsigned steps = 0;
             state && steps < GV_LOOK_PYTHON_THREADS && python->threads < GV_LOOK_PYTHON_THREADS;
             steps++) {
            python->thread[python->threads].tid = tid_of(python, state, tids, count);
            python->thread[python->threads++].state = state;
            if (!read_pointer(python, state + layout->next_thread, &state))
                break;
        }
        if (!read_pointer(python, interpreter + layout->next_interpreter, &interpreter))
            break;
    }
    if (main_one)
        read_gil(python, main_one);
}

/* ---- texts and code objects ---- */

static size_t put_utf8(char *out, uint32_t character)
{
    static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    for (size_t i = bytes - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 63));
    out[0] = (char)(first[bytes] | (character & 127));
    return bytes;
}

/* Of a long one, its end, which says more of a path. */
static bool read_text(const struct gv_look_python *python, uintptr_t at,
                      char out[GV_LOOK_PYTHON_TEXT_BYTES])
{
    const struct gv_python_layout *layout = &python->layout;
    unsigned char raw[GV_LOOK_PYTHON_TEXT_BYTES / 4 * 4];
    char whole[GV_LOOK_PYTHON_TEXT_BYTES];
    struct {
        uintptr_t type;
        int64_t length, hash;
        uint32_t state;
    } head;
    size_t used = 0;

    if (!read_in(python, &head, at + layout->type, sizeof(head)) ||
        head.type != python->text_type || head.length < 0 || head.length > LONGEST_TEXT)
        return false;
    if (layout->is_free_threaded && layout->minor >= INTERNED_BYTE)
        head.state >>= 6;
    bool compact = head.state >> 5 & 1, ascii = head.state >> 6 & 1;
    size_t width = head.state >> 2 & 7, length = (size_t)head.length;
    if (!compact || (width != 1 && width != 2 && width != 4))
        return false;
    at += layout->ascii_bytes + (ascii ? 0 : 2 * sizeof(void *));
    if (!ascii && layout->minor < 12)
        at += sizeof(void *);
    size_t most = sizeof(raw) / 4, skipped = length > most ? length - most : 0;
    length -= skipped;
    if (length && !read_in(python, raw, at + skipped * width, length * width))
        return false;
    for (size_t i = 0; i < length && used + 4 < sizeof(whole); i++) {
        uint32_t character = 0;

        memcpy(&character, raw + i * width, width);
        used += put_utf8(whole + used, character);
    }
    gv_text_repair(out, GV_LOOK_PYTHON_TEXT_BYTES, whole, used);
    return true;
}

static int32_t read_line(const struct gv_look_python *python, uintptr_t lines, int32_t first,
                         uint32_t instruction)
{
    struct {
        uintptr_t type;
        int64_t bytes;
    } head;
    int32_t line = first;

    if (!read_in(python, &head, lines + python->layout.type, sizeof(head)) ||
        head.type != python->bytes_type || head.bytes <= 0 || head.bytes > TABLE_MOST)
        return line;
    uint8_t *data = malloc((size_t)head.bytes);
    if (data &&
        read_in(python, data, lines + python->layout.type + BYTES_DATA, (size_t)head.bytes)) {
        const struct gv_python_table table = {data, (size_t)head.bytes, python->layout.minor,
                                              first};
        line = gv_python_line(&table, instruction);
    }
    free(data);
    return line;
}

static bool read_code(const struct gv_look_python *python, uintptr_t code, uint32_t instruction,
                      struct gv_look_python_frame *frame)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t type, file, function, lines;
    int32_t first;

    if (!read_pointer(python, code + layout->type, &type) || type != python->code_type ||
        !read_in(python, &first, code + layout->first_line, sizeof(first)) || first < 0 ||
        !read_pointer(python, code + layout->filename, &file) ||
        !read_pointer(python,
                      code + (layout->qualname != GV_PYTHON_NONE ? layout->qualname : layout->name),
                      &function) ||
        !read_pointer(python, code + layout->line_table, &lines) ||
        !read_text(python, file, frame->file) || !read_text(python, function, frame->function))
        return false;
    frame->line = read_line(python, lines, first, instruction);
    return true;
}

/* ---- frames ---- */

static bool is_of_c(const struct gv_look_python *python, uintptr_t frame)
{
    uint8_t owner;

    return python->layout.minor >= 12 && python->layout.owner != GV_PYTHON_NONE &&
           read_in(python, &owner, frame + python->layout.owner, sizeof(owner)) &&
           owner >= OWNED_BY_C;
}

/* In a build without the GIL, a thread may have a copy of its own of a code's instructions. */
static bool instructions_of(const struct gv_look_python *python, uintptr_t frame, uintptr_t code,
                            uintptr_t *start)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t list;
    int64_t copies;
    int32_t index;

    *start = code + layout->code_bytes;
    if (!layout->thread_codes ||
        !read_in(python, &index, frame + layout->thread_code, sizeof(index)) || index == 0)
        return true;
    return read_pointer(python, code + layout->thread_codes, &list) &&
           read_in(python, &copies, list, sizeof(copies)) && index > 0 && index < copies &&
           read_pointer(python, list + sizeof(copies) + (size_t)index * sizeof(*start), start);
}

static bool read_frame(const struct gv_look_python *python, uintptr_t at,
                       struct gv_look_python_frame *frame)
{
    const struct gv_python_layout *layout = &python->layout;
    uint32_t instruction = 0;
    uintptr_t code, now, start;
    int32_t index;

    if (!read_pointer(python, at + layout->code, &code))
        return false;
    code &= ~(uintptr_t)TAG_BITS;
    if (layout->code_bytes != GV_PYTHON_NONE) {
        if (!read_pointer(python, at + layout->instruction, &now) ||
            !instructions_of(python, at, code, &start))
            return false;
        instruction = now >= start && now - start < UINT32_MAX ? (uint32_t)(now - start) : 0;
    } else {
        if (!read_in(python, &index, at + layout->instruction, sizeof(index)))
            return false;
        /* 3.10 counts instructions, 3.9 bytes. */
        instruction = index < 0 ? 0 : (uint32_t)index * (layout->minor == 10 ? 2 : 1);
    }
    return read_code(python, code, instruction, frame);
}

static bool walk(const struct gv_look_python *python, uintptr_t state,
                 struct gv_look_python_frame *frames, size_t *count)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t at;

    *count = 0;
    if (!read_pointer(python, state + layout->frame, &at) ||
        (at && layout->cframe_frame != GV_PYTHON_NONE &&
         !read_pointer(python, at + layout->cframe_frame, &at)))
        return false;
    for (unsigned steps = 0; at && steps < STEPS && *count < GV_LOOK_PYTHON_FRAMES; steps++) {
        if (!is_of_c(python, at)) {
            if (!read_frame(python, at, &frames[*count]))
                return false;
            /* Code of the interpreter without a line is shown by Python neither. */
            *count += frames[*count].line > 0 || frames[*count].file[0] != '<';
        }
        if (!read_pointer(python, at + layout->previous, &at))
            return false;
    }
    return true;
}

size_t gv_look_python_frames(const struct gv_look_python *python, uint32_t tid,
                             struct gv_look_python_frame frames[GV_LOOK_PYTHON_FRAMES])
{
    uintptr_t state = 0;
    size_t count = 0;

    for (size_t i = 0; i < python->threads && !state; i++)
        if (tid && python->thread[i].tid == tid)
            state = python->thread[i].state;
    /* While it runs, a walk may end in what is not a frame any more. */
    for (int tries = 0; state && tries < TRIES; tries++)
        if (walk(python, state, frames, &count))
            return count;
    return 0;
}
