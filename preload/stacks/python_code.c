#include "preload/stacks/python_code.h"

#include "trace/mix.h"

#include <stdatomic.h>
#include <string.h>

#define GV_PYTHON_MEMORY struct gv_python_memory *
#define GV_PYTHON_READ   gv_python_memory_read
#include "trace/python_read.h"

/* Enough for the fields of a code object that tell it from others. */
#define GV_PYTHON_USUAL_BYTES 128u
/* From 3.12 on code objects are numbered, after their first line. A number is never given twice. */
#define GV_PYTHON_NUMBERED  12
#define GV_PYTHON_NUMBER_AT 24

static bool is_of_type(const struct gv_python *python, uintptr_t object, uintptr_t type)
{
    uintptr_t found;

    return gv_python_memory_pointer(python->memory, object + python->layout.type, &found) &&
           found == type;
}

/* ---- strings ---- */

static bool find_text(const struct gv_python *python, uintptr_t at, struct gv_python_text *text)
{
    return gv_python_find_text(&python->layout, python->memory, python->text_type, at, text);
}

static bool read_text(const struct gv_python *python, uintptr_t at, char *out, size_t *used)
{
    unsigned char raw[GV_PYTHON_TEXT_BYTES];
    struct gv_python_text text;

    return find_text(python, at, &text) &&
           gv_python_read_text(python->memory, &text, raw, out, sizeof raw, used);
}

/* ---- the parts of a code object ---- */

/* From its first line to its line table; and the rest, from those. */
struct code {
    unsigned char fields[GV_PYTHON_USUAL_BYTES];
    size_t fields_bytes;
    int32_t first_line;
    uint32_t number; /* 0: it has none */
    uintptr_t file, function, lines;
    uintptr_t table; /* the bytes of `lines` */
    size_t table_bytes;
};

/* The interpreter gives these offsets, from 3.13 on. */
static bool has_fields(const struct gv_python_layout *layout)
{
    uint16_t first = layout->first_line, last = layout->line_table;

    return last > first && last + sizeof(uintptr_t) - first <= GV_PYTHON_USUAL_BYTES &&
           layout->filename >= first && layout->filename <= last &&
           gv_python_name_at(layout) >= first && gv_python_name_at(layout) <= last;
}

static uintptr_t pointer_at(const struct gv_python_layout *layout, const struct code *code,
                            uint16_t at)
{
    uintptr_t value;

    memcpy(&value, code->fields + (at - layout->first_line), sizeof value);
    return value;
}

static bool read_fields(const struct gv_python *python, uintptr_t at, struct code *code)
{
    const struct gv_python_layout *layout = &python->layout;

    code->fields_bytes = layout->line_table + sizeof(uintptr_t) - layout->first_line;
    if (!has_fields(layout) || !is_of_type(python, at, python->code_type) ||
        !gv_python_memory_read(python->memory, code->fields, at + layout->first_line,
                               code->fields_bytes))
        return false;
    memcpy(&code->first_line, code->fields, sizeof code->first_line);
    code->file = pointer_at(layout, code, layout->filename);
    code->function = pointer_at(layout, code, gv_python_name_at(layout));
    code->lines = pointer_at(layout, code, layout->line_table);
    code->number = 0;
    if (layout->minor >= GV_PYTHON_NUMBERED)
        memcpy(&code->number, code->fields + GV_PYTHON_NUMBER_AT, sizeof code->number);
    return true;
}

static bool read_table(const struct gv_python *python, struct code *code)
{
    return gv_python_find_bytes(&python->layout, python->memory, python->bytes_type, code->lines,
                                &code->table, &code->table_bytes);
}

static bool read_code(const struct gv_python *python, uintptr_t at, struct code *code)
{
    return read_fields(python, at, code) && read_table(python, code);
}

bool gv_python_code_looks_right(const struct gv_python *python, uintptr_t at)
{
    struct gv_python_text file, function;
    struct code code;

    return read_code(python, at, &code) && code.first_line >= 0 &&
           find_text(python, code.file, &file) && find_text(python, code.function, &function) &&
           function.head.length > 0;
}

/* ---- identity ---- */

/* Word by word, without a call: of memory that is read directly, nothing is copied. Words are mixed
 * by fours first, so that a processor mixes several fours at once. */
static uint64_t mix_words(uint64_t hash, const unsigned char *at, size_t bytes)
{
    uint64_t word[4], rest = 0;

    for (; bytes >= sizeof word; at += sizeof word, bytes -= sizeof word) {
        __builtin_memcpy(word, at, sizeof word);
        hash = gv_mix(hash, gv_mix(gv_mix(gv_mix(gv_mix(0, word[0]), word[1]), word[2]), word[3]));
    }
    for (; bytes >= sizeof *word; at += sizeof *word, bytes -= sizeof *word) {
        __builtin_memcpy(word, at, sizeof *word);
        hash = gv_mix(hash, *word);
    }
    for (size_t i = 0; i < bytes; i++)
        rest = rest << 8 | at[i];
    return bytes ? gv_mix(hash, rest) : hash;
}

static bool mix_memory(const struct gv_python *python, uintptr_t at, size_t bytes, uint64_t *hash)
{
    unsigned char piece[GV_PYTHON_USUAL_BYTES];

    if (!python->memory) {
        if (at < GV_PYTHON_MEMORY_LOW || at >= GV_PYTHON_MEMORY_HIGH - bytes)
            return false;
        *hash = mix_words(*hash, (const unsigned char *)at, bytes);
        return true;
    }
    while (bytes) {
        size_t part = bytes < sizeof piece ? bytes : sizeof piece;

        if (!gv_python_memory_read(python->memory, piece, at, part))
            return false;
        *hash = mix_words(*hash, piece, part);
        at += part;
        bytes -= part;
    }
    return true;
}

/* By CPython's own hash of it, if there is one. When that is computed later, the code object gets
 * another number. */
static bool mix_text(const struct gv_python *python, uintptr_t at, uint64_t *hash)
{
    struct gv_python_text text;

    if (!find_text(python, at, &text))
        return false;
    *hash = gv_mix(gv_mix(*hash, (uint64_t)text.head.length), (uint64_t)text.head.hash);
    return text.head.hash != -1 ||
           mix_memory(python, text.data, (size_t)text.head.length * text.width, hash);
}

/* All between its first line and its line table, which holds its number and where its names are.
 * An unnumbered one may have its names and its line table where those of a freed one were, so
 * these are read too. */
bool gv_python_code_key(const struct gv_python *python, uintptr_t at, uint64_t *key)
{
    struct code code;

    if (!read_fields(python, at, &code))
        return false;
    *key = mix_words(gv_mix(python->pid, at), code.fields, code.fields_bytes);
    return code.number ||
           (mix_text(python, code.file, key) && mix_text(python, code.function, key) &&
            read_table(python, &code) && code.table_bytes <= GV_PYTHON_LONGEST_TEXT &&
            mix_memory(python, code.table, code.table_bytes, key));
}

/* ---- what is known ---- */

/*
 * Half of the cells are free. A cell has a part of a key, the number, and whether its record is
 * written: if that failed, the next one who sees the code object tries again. 0: it is free.
 */
#define CELLS       (2 * GV_PYTHON_CODES)
#define NUMBER_BITS 15
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)
#define WRITTEN     (UINT64_C(1) << NUMBER_BITS)
#define KEY_MASK    (~(NUMBER_MASK | WRITTEN))

static _Atomic uint64_t known[CELLS];
static _Atomic uint32_t count;

/* By the bits that are not in the cell. */
static unsigned first_cell(uint64_t key)
{
    return (unsigned)(key % CELLS);
}

/* Its cell, which is given a number if it is new. NULL: there is no room. */
static _Atomic uint64_t *find(uint64_t key)
{
    uint64_t new = 0;

    for (unsigned i = 0; i < CELLS; i++) {
        _Atomic uint64_t *cell = &known[(first_cell(key) + i) % CELLS];
        uint64_t found = atomic_load_explicit(cell, memory_order_acquire);

        if (!found) {
            if (!new &&atomic_load_explicit(&count, memory_order_relaxed) >= GV_PYTHON_CODES)
                return NULL;
            /* Threads that come at once may count a few more than there is room for. */
            new = new ? new : (key & KEY_MASK) | (atomic_fetch_add(&count, 1) + 1);
            if (atomic_compare_exchange_strong(cell, &found, new))
                return cell;
        }
        if ((found & KEY_MASK) == (key & KEY_MASK))
            return cell;
    }
    return NULL;
}

void gv_python_code_start_over(void)
{
    if (atomic_exchange(&count, 0))
        memset(known, 0, sizeof known);
}

/* ---- records ---- */

#define PIECE_BYTES (16 * GV_RECORD_TEXT_BYTES)

/* False: there is no room, or it cannot be read. */
static bool write_table(struct gv_thread *thread, const struct gv_python *python,
                        const struct code *code)
{
    char piece[PIECE_BYTES];

    for (size_t at = 0; at < code->table_bytes; at += sizeof piece) {
        size_t left = code->table_bytes - at, bytes = left < sizeof piece ? left : sizeof piece;

        if (!gv_python_memory_read_now(python->memory, piece, code->table + at, bytes) ||
            !gv_thread_write_text(thread, piece, (uint32_t)bytes, true))
            return false;
    }
    return true;
}

static bool write_code(struct gv_thread *thread, const struct gv_python *python, uintptr_t at,
                       uint32_t number)
{
    char names[2 * GV_PYTHON_TEXT_BYTES];
    size_t file_bytes, function_bytes;
    struct code code;

    if (!read_code(python, at, &code) || !read_text(python, code.file, names, &file_bytes) ||
        !read_text(python, code.function, names + file_bytes, &function_bytes))
        return false;
    if (code.table_bytes > GV_PYTHON_TABLE_MOST)
        code.table_bytes = 0;
    union gv_record record = {.python_code = {
                                  .head = {.kind = GV_RECORD_PYTHON_CODE, .flags = GV_RECORD_MORE},
                                  .number = number,
                                  .first_line = code.first_line,
                                  .file_bytes = (uint16_t)file_bytes,
                                  .function_bytes = (uint16_t)function_bytes,
                                  .table_bytes = (uint32_t)code.table_bytes,
                                  .minor = (uint8_t)python->layout.minor,
                                  .is_interpreters = at >= python->low && at < python->high,
                              }};
    return gv_thread_write(thread, GV_ROOM_CODE, &record) &&
           gv_thread_write_text(thread, names, (uint32_t)(file_bytes + function_bytes), true) &&
           write_table(thread, python, &code);
}

uint32_t gv_python_code_number(struct gv_thread *thread, const struct gv_python *python,
                               uintptr_t code, uint64_t key)
{
    _Atomic uint64_t *cell = find(key);
    uint64_t now = cell ? atomic_load_explicit(cell, memory_order_relaxed) : 0;
    uint32_t number = (uint32_t)(now & NUMBER_MASK);

    if (!cell || now & WRITTEN)
        return number;
    if (!write_code(thread, python, code, number))
        return 0;
    atomic_fetch_or(cell, WRITTEN);
    return number;
}
