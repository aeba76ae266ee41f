/*
 * How a frame, a code object and a string of CPython are read, from inside of the process and
 * outside. Included with the reader that is meant, so that reading costs no call through a pointer:
 *
 *   GV_PYTHON_MEMORY                         the type of what is read
 *   GV_PYTHON_READ(memory, to, from, bytes)  true: all of it was read
 *
 * Any thread. Allocates nothing, locks nothing. What is read may be anything.
 */
#ifndef GV_TRACE_PYTHON_READ_H
#define GV_TRACE_PYTHON_READ_H

#include "trace/python_layout.h"

#include <string.h>

/* After an object's type, in all versions on 64-bit Linux. */
#define GV_PYTHON_BYTES_DATA   24
#define GV_PYTHON_LONGEST_TEXT (1 << 20)
/* The owner of a generator's or coroutine's frame, from 3.11 on. */
#define GV_PYTHON_OWNED_BY_A_VALUE 1
/* From this owner on, a frame is not a Python function, but a call from C to the interpreter. */
#define GV_PYTHON_OWNED_BY_C 3
#define GV_PYTHON_TAG_BITS   3u /* 3.14 has flags in a reference's lowest bits */
/* From 3.14 on builds without the GIL have a byte of its own for whether a string is interned. */
#define GV_PYTHON_INTERNED_BYTE 14

static inline bool gv_python_read_pointer(GV_PYTHON_MEMORY memory, uintptr_t from, uintptr_t *value)
{
    return GV_PYTHON_READ(memory, value, from, sizeof *value);
}

/* ---- frames ---- */

/* 0: the thread with this state runs no Python. */
static inline bool gv_python_read_innermost(const struct gv_python_layout *layout,
                                            GV_PYTHON_MEMORY memory, uintptr_t state,
                                            uintptr_t *frame)
{
    return gv_python_read_pointer(memory, state + layout->frame, frame) &&
           (layout->cframe_frame == GV_PYTHON_NONE || !*frame ||
            gv_python_read_pointer(memory, *frame + layout->cframe_frame, frame));
}

/* Whether frames of this version say that they are calls from C. */
static inline bool gv_python_has_frames_of_c(const struct gv_python_layout *layout)
{
    return layout->minor >= 12 && layout->owner != GV_PYTHON_NONE;
}

/* The frame's code object. */
static inline bool gv_python_read_code(const struct gv_python_layout *layout,
                                       GV_PYTHON_MEMORY memory, uintptr_t frame, uintptr_t *code)
{
    if (!gv_python_read_pointer(memory, frame + layout->code, code))
        return false;
    *code &= ~(uintptr_t)GV_PYTHON_TAG_BITS;
    return true;
}

/* Where the instructions are that the frame runs: at the end of the code object, or in a copy for
 * its thread, of which the code object has a list. */
static inline bool gv_python_read_start(const struct gv_python_layout *layout,
                                        GV_PYTHON_MEMORY memory, uintptr_t frame, uintptr_t code,
                                        uintptr_t *start)
{
    int64_t copies;
    int32_t index;
    uintptr_t list;

    *start = code + layout->code_bytes;
    if (!layout->thread_codes)
        return true;
    if (!GV_PYTHON_READ(memory, &index, frame + layout->thread_code, sizeof index))
        return false;
    return index == 0 ||
           (gv_python_read_pointer(memory, code + layout->thread_codes, &list) &&
            GV_PYTHON_READ(memory, &copies, list, sizeof copies) && index > 0 && index < copies &&
            gv_python_read_pointer(memory, list + sizeof copies + (size_t)index * sizeof *start,
                                   start));
}

/* Where in them it is, in bytes. */
static inline bool gv_python_read_instruction(const struct gv_python_layout *layout,
                                              GV_PYTHON_MEMORY memory, uintptr_t frame,
                                              uintptr_t code, uint32_t *instruction)
{
    uintptr_t at, start;
    int32_t index;

    if (layout->code_bytes != GV_PYTHON_NONE) {
        if (!gv_python_read_pointer(memory, frame + layout->instruction, &at) ||
            !gv_python_read_start(layout, memory, frame, code, &start))
            return false;
        *instruction = at >= start && at - start < UINT32_MAX ? (uint32_t)(at - start) : 0;
        return true;
    }
    if (!GV_PYTHON_READ(memory, &index, frame + layout->instruction, sizeof index))
        return false;
    /* 3.10 counts instructions, 3.9 bytes; before the first one it is -1. */
    *instruction = index < 0 ? 0 : (uint32_t)index * (layout->minor == 10 ? 2 : 1);
    return true;
}

/* ---- code objects ---- */

static inline uint16_t gv_python_name_at(const struct gv_python_layout *layout)
{
    return layout->qualname != GV_PYTHON_NONE ? layout->qualname : layout->name;
}

/* Where the bytes are of an object of CPython's type bytes. */
static inline bool gv_python_find_bytes(const struct gv_python_layout *layout,
                                        GV_PYTHON_MEMORY memory, uintptr_t type, uintptr_t object,
                                        uintptr_t *data, size_t *bytes)
{
    struct {
        uintptr_t type;
        int64_t bytes;
    } head;

    if (!GV_PYTHON_READ(memory, &head, object + layout->type, sizeof head) || head.type != type ||
        head.bytes < 0)
        return false;
    *data = object + layout->type + GV_PYTHON_BYTES_DATA;
    *bytes = (size_t)head.bytes;
    return true;
}

/* ---- strings ---- */

struct gv_python_text {
    struct { /* from its type on */
        uintptr_t type;
        int64_t length, hash; /* in characters; -1: not computed yet */
        uint32_t state;
    } head;
    unsigned width; /* of a character */
    uintptr_t data;
};

static inline bool gv_python_find_text(const struct gv_python_layout *layout,
                                       GV_PYTHON_MEMORY memory, uintptr_t type, uintptr_t object,
                                       struct gv_python_text *text)
{
    uint32_t state;

    if (!GV_PYTHON_READ(memory, &text->head, object + layout->type, sizeof text->head) ||
        text->head.type != type || text->head.length < 0 ||
        text->head.length > GV_PYTHON_LONGEST_TEXT)
        return false;
    state = text->head.state;
    if (layout->is_free_threaded && layout->minor >= GV_PYTHON_INTERNED_BYTE)
        state >>= 6;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    text->width = state >> 2 & 7;
    text->data = object + layout->ascii_bytes + (ascii ? 0 : 2 * sizeof(void *));
    if (!ascii && layout->minor < 12)
        text->data += sizeof(void *);
    return compact && (text->width == 1 || text->width == 2 || text->width == 4);
}

static inline size_t gv_python_put_utf8(char *out, size_t used, size_t size, uint32_t character)
{
    static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    if (used + bytes > size)
        return used;
    for (size_t i = bytes - 1; i > 0; i--, character >>= 6)
        out[used + i] = (char)(0x80 | (character & 63));
    out[used] = (char)(first[bytes] | (character & 127));
    return used + bytes;
}

/* The characters as UTF-8, of a long string the end, which says more of a path. `raw` has `size`
 * bytes, as `out`. */
static inline bool gv_python_read_text(GV_PYTHON_MEMORY memory, const struct gv_python_text *text,
                                       unsigned char *raw, char *out, size_t size, size_t *used)
{
    size_t length = (size_t)text->head.length, width = text->width, most = size / width;
    size_t skipped = length > most ? length - most : 0, count = length - skipped;

    *used = 0;
    if (!GV_PYTHON_READ(memory, raw, text->data + skipped * width, count * width))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t character = 0;

        memcpy(&character, raw + i * width, width);
        *used = gv_python_put_utf8(out, *used, size, character);
    }
    return true;
}

#endif
