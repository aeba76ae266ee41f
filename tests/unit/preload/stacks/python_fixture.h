/* An interpreter's memory, as CPython 3.12 lays it out, but for 3.9's frames. */
#ifndef GV_TESTS_PRELOAD_PYTHON_FIXTURE_H
#define GV_TESTS_PRELOAD_PYTHON_FIXTURE_H

#include "preload/stacks/python_frames.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FRAMES 40

struct text {
    void *references, *type;
    int64_t length, hash;
    uint32_t state;
    char padding[12];
    char characters[32];
};

struct bytes {
    void *references, *type;
    int64_t length, hash;
    unsigned char data[8];
};

struct code {
    void *references, *type;
    char before_line[24];
    int32_t first_line;
    char before_number[20];
    uint32_t number; /* 24 bytes after the line */
    void *filename, *name, *lines;
};

struct frame {
    void *references, *previous;
    struct code *code;
    uint64_t instruction;
};

static char code_type[8], text_type[8], bytes_type[8];

static struct {
    void *before[3];
    struct frame *frame;
} state;

static struct {
    struct frame frame;
    struct code code;
    struct text file, name;
    struct bytes lines;
} places[FRAMES];

static inline struct gv_python python_of(uint16_t minor)
{
    return (struct gv_python){.layout = {.minor = minor,
                                         .frame = offsetof(__typeof__(state), frame),
                                         .cframe_frame = GV_PYTHON_NONE,
                                         .previous = offsetof(struct frame, previous),
                                         .code = offsetof(struct frame, code),
                                         .instruction = offsetof(struct frame, instruction),
                                         .owner = GV_PYTHON_NONE,
                                         .first_line = offsetof(struct code, first_line),
                                         .filename = offsetof(struct code, filename),
                                         .name = offsetof(struct code, name),
                                         .qualname = GV_PYTHON_NONE,
                                         .line_table = offsetof(struct code, lines),
                                         .code_bytes = GV_PYTHON_NONE,
                                         .ascii_bytes = offsetof(struct text, characters),
                                         .type = offsetof(struct code, type)},
                              .code_type = (uintptr_t)code_type,
                              .text_type = (uintptr_t)text_type,
                              .bytes_type = (uintptr_t)bytes_type,
                              .is_readable = true,
                              .trusted = true};
}

static inline void set_text(struct text *text, const char *characters)
{
    memset(text, 0, sizeof *text);
    text->type = text_type;
    text->length = (int64_t)strlen(characters);
    text->hash = -1;
    text->state = 1u << 2 | 1u << 5 | 1u << 6;
    strcpy(text->characters, characters);
}

/* With 3.9's table: pairs of steps, in bytes and lines. */
static inline void set_places(void)
{
    for (int i = 0; i < FRAMES; i++) {
        char name[32];

        snprintf(name, sizeof name, "function_%d", i);
        set_text(&places[i].file, "/no/such/file.py");
        set_text(&places[i].name, name);
        places[i].lines = (struct bytes){.type = bytes_type, .length = 2, .data = {0, 3}};
        places[i].code = (struct code){.type = code_type,
                                       .first_line = 10,
                                       .number = (uint32_t)i + 100,
                                       .filename = &places[i].file,
                                       .name = &places[i].name,
                                       .lines = &places[i].lines};
        places[i].frame = (struct frame){.code = &places[i].code,
                                         .instruction = 4,
                                         .previous = i + 1 < FRAMES ? &places[i + 1].frame : NULL};
    }
    state.frame = &places[0].frame;
}

#endif
