/*
 * Reads a CPython interpreter, and a mapped library, that are not what they seem, as `gpuverify
 * look` reads those of another process; the process is this one. With libFuzzer (clang,
 * -Dfuzz=true) it searches by itself; otherwise tests/fuzz/fuzz_driver.c feeds it random damage.
 *
 * The input's first byte chooses the version; chunks of ten bytes follow: where (two bytes), how
 * (one), and seven bytes to put there, which may become an address in the same memory. Half of them
 * hit the interpreter, half the library. Whatever the input, reading must end, and give texts that
 * are texts.
 */
#include "report/look/calls.h"
#include "report/look/python.h"
#include "report/look/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUZZ_WORDS 4096u
#define FUZZ_BYTES (1u << 16)
#define FUZZ_CHUNK 10u
#define FUZZ_TID   7u

/* Words of the arena. */
enum {
    RUNTIME = 0,
    INTERPRETER = 1024,
    STATE = 3000,
    CFRAME = 3100,
    FRAME = 3150,
    CODE = 3200,
    FILE_NAME = 3300,
    FUNCTION = 3320,
    LINES = 3340,
    TYPES = 3400,
    DYNAMIC = 3500,
    SYMBOLS = 3600,
    TEXT = 3700,
    HASH = 3800,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t fuzz_arena[FUZZ_WORDS];
static const char *const fuzz_names[] = {"_PyRuntime", "PyCode_Type", "PyUnicode_Type",
                                         "PyBytes_Type", "Py_Version"};
static unsigned char *fuzz_library;
static size_t fuzz_library_bytes;

static uint64_t address(size_t word)
{
    return (uint64_t)(uintptr_t)&fuzz_arena[word];
}

static void put(size_t word, uint16_t offset, uint64_t value)
{
    if (offset != GV_PYTHON_NONE && word * 8 + offset + 8u <= sizeof(fuzz_arena))
        memcpy((char *)&fuzz_arena[word] + offset, &value, sizeof(value));
}

static bool read_arena(void *context, void *to, uintptr_t from, size_t bytes)
{
    (void)context;
    memcpy(to, (const void *)from, bytes);
    return true;
}

/* From 3.13 on, its own table of offsets. */
static void put_offsets(long minor, bool is_free_threaded)
{
    static const struct {
        long minor;
        uint16_t at[24];
    } tables[] = {
#define GV_PYTHON_DEBUG(minor, ...) {minor, {__VA_ARGS__}},
#include "trace/python_debug_offsets.def"
    };

    memcpy(fuzz_arena, "xdebugpy", 8);
    put(RUNTIME, 16, is_free_threaded);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (uint16_t k = 0; k < 24 && tables[i].minor == minor; k++)
            if (tables[i].at[k]) /* 0: it has none */
                put(RUNTIME, tables[i].at[k], 32 + 8u * k);
}

static void put_text(const struct gv_python_layout *layout, size_t word, const char *text)
{
    put(word, layout->type, address(TYPES + 1));
    put(word, layout->type + 8, strlen(text));
    put(word, layout->type + 24,
        (1u << 5 | 1u << 6 | 1u << 2) << (layout->is_free_threaded && layout->minor >= 14 ? 6 : 0));
    memcpy((char *)&fuzz_arena[word] + layout->ascii_bytes, text, strlen(text));
}

static void put_interpreter(const struct gv_python_layout *layout)
{
    put(RUNTIME, layout->interpreters, address(INTERPRETER));
    put(INTERPRETER, layout->threads, address(STATE));
    put(STATE, layout->native_id, FUZZ_TID);
    put(STATE, layout->thread_id, address(TYPES + 8)); /* where glibc has its number */
    fuzz_arena[TYPES + 8] = FUZZ_TID;
    put(STATE, layout->frame,
        layout->cframe_frame == GV_PYTHON_NONE ? address(FRAME) : address(CFRAME));
    put(CFRAME, layout->cframe_frame, address(FRAME));
    put(FRAME, layout->code, address(CODE));
    put(CODE, layout->first_line, 41);
    put(CODE, layout->type, address(TYPES));
    put(CODE, layout->filename, address(FILE_NAME));
    put(CODE, layout->name, address(FUNCTION));
    put(CODE, layout->qualname, address(FUNCTION));
    put(CODE, layout->line_table, address(LINES));
    put_text(layout, FILE_NAME, "train.py");
    put_text(layout, FUNCTION, "step");
    put(LINES, layout->type, address(TYPES + 2));
    put(LINES, layout->type + 8, 16);
}

/* What the library exports: names, and where they are. */
static void put_symbols(void)
{
    const uint64_t values[] = {address(RUNTIME), address(TYPES), address(TYPES + 1),
                               address(TYPES + 2), address(TYPES + 3)};
    const uint64_t dynamic[] = {DT_SYMTAB, address(SYMBOLS), DT_STRTAB,    address(TEXT), DT_STRSZ,
                                256,       DT_HASH,          address(HASH)};
    Elf64_Sym *symbol = (Elf64_Sym *)&fuzz_arena[SYMBOLS];
    char *text = (char *)&fuzz_arena[TEXT];

    memcpy(&fuzz_arena[DYNAMIC], dynamic, sizeof(dynamic));
    for (unsigned i = 0; i < 5; i++) {
        snprintf(text + 20 * (size_t)i, 20, "%s", fuzz_names[i]);
        symbol[i] = (Elf64_Sym){.st_name = 20 * i,
                                .st_shndx = 1,
                                .st_value = values[i] - address(0),
                                .st_size = 8,
                                .st_info = ELF64_ST_INFO(STB_GLOBAL, i ? STT_OBJECT : STT_FUNC)};
    }
    fuzz_arena[HASH] = 1 | (uint64_t)5 << 32;
}

/* ---- damage ---- */

static void fuzz_begin(void)
{
    int from = open(FUZZ_OBJECT, O_RDONLY | O_CLOEXEC), fd = memfd_create("fuzz_look", 0);
    static unsigned char whole[FUZZ_BYTES];
    ssize_t got = from < 0 ? -1 : read(from, whole, sizeof(whole));

    if (got <= 0 || fd < 0 || write(fd, whole, (size_t)got) != got)
        abort();
    fuzz_library_bytes = (size_t)got;
    fuzz_library = mmap(NULL, fuzz_library_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (fuzz_library == MAP_FAILED)
        abort();
    close(from);
    close(fd);
}

static void fuzz_damage(const uint8_t *data, size_t size)
{
    for (; size >= FUZZ_CHUNK; data += FUZZ_CHUNK, size -= FUZZ_CHUNK) {
        size_t where = (size_t)data[0] | (size_t)data[1] << 8;
        uint64_t value = 0;
        memcpy(&value, data + 3, FUZZ_CHUNK - 3);
        if (data[2] & 1) {
            where %= fuzz_library_bytes - 8;
            memcpy(fuzz_library + (data[2] & 2 ? where % 1024 : where), &value, 7);
        } else {
            fuzz_arena[where % FUZZ_WORDS] = data[2] & 2   ? address(value % FUZZ_WORDS)
                                             : data[2] & 4 ? value << 8
                                                           : value;
        }
    }
}

/* ---- reading ---- */

static void read_python(long minor, bool is_copied)
{
    static struct gv_look_python_frame frames[GV_LOOK_PYTHON_FRAMES];
    static struct gv_look_python python;
    struct gv_outside_object object = {.base = address(0),
                                       .low = address(0),
                                       .high = address(FUZZ_WORDS - 1),
                                       .dynamic = address(DYNAMIC),
                                       .dynamic_bytes = 256};
    const struct gv_outside_objects objects = {&object, 1, 1};

    snprintf(object.path, sizeof(object.path), "/usr/bin/python3.%ld", minor);
    if (gv_look_python_find((uint32_t)getpid(), &objects, &python) != 0)
        return;
    gv_look_python_threads(&python, (const uint32_t[]){FUZZ_TID, 8}, 2);
    if (python.threads > GV_LOOK_PYTHON_THREADS)
        abort();
    if (is_copied)
        gv_look_python_copy(&python, FUZZ_TID);
    size_t count = gv_look_python_frames(&python, FUZZ_TID, frames);
    if (count > GV_LOOK_PYTHON_FRAMES)
        abort();
    for (size_t i = 0; i < count; i++)
        if (strnlen(frames[i].file, sizeof(frames[i].file)) == sizeof(frames[i].file) ||
            strnlen(frames[i].function, sizeof(frames[i].function)) == sizeof(frames[i].function))
            abort();
}

static void read_library(void)
{
    struct gv_outside_objects objects = {NULL, 0, 0};
    struct gv_look_calls calls = {.pid = (uint32_t)getpid()};
    uint64_t at = (uint64_t)(uintptr_t)fuzz_library;

    if (gv_outside_objects(calls.pid, &objects) != 0)
        abort();
    const struct gv_outside_object *object = gv_outside_object_at(&objects, at);
    if (object && object->build_id_bytes > GV_UNWIND_BUILD_ID)
        abort();
    for (uint64_t step = 0; object && step < fuzz_library_bytes; step += 512)
        (void)gv_look_function(&calls, object, at + step);
    gv_look_calls_free(&calls);
    gv_outside_objects_free(&objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long minor = 9 + (size ? data[0] % 7 : 0);
    struct gv_python_layout layout;

    if (!fuzz_library)
        fuzz_begin();
    unsigned char *keep = malloc(fuzz_library_bytes);
    if (!keep)
        abort();
    memcpy(keep, fuzz_library, fuzz_library_bytes);
    memset(fuzz_arena, 0, sizeof(fuzz_arena));
    put_offsets(minor, size && data[0] & 128);
    put_symbols();
    if (!gv_python_layout_find(minor, address(RUNTIME), read_arena, NULL, &layout))
        abort();
    put_interpreter(&layout);
    fuzz_damage(data + (size > 0), size - (size > 0));
    read_python(minor, size && data[0] & 32);
    if (size && data[0] & 64)
        read_library();
    memcpy(fuzz_library, keep, fuzz_library_bytes);
    free(keep);
    return 0;
}
