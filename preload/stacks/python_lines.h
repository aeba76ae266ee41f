/*
 * Finds the line of an instruction in a code object's line table. Three formats: line number table
 * (3.9), line table (3.10), location table (3.11 and later).
 */
#ifndef GV_STACKS_PYTHON_LINES_H
#define GV_STACKS_PYTHON_LINES_H

#include "preload/stacks/python_memory.h"

#include <stddef.h>
#include <stdint.h>

#define GV_PYTHON_WINDOW_BYTES 64u

/* A table in the interpreter's memory, read piece by piece. Set the first three fields, and the
 * rest to 0. */
struct gv_python_table {
    struct gv_python_memory *memory;
    uintptr_t from;
    size_t bytes;
    size_t window_at;
    size_t window_bytes;
    uint8_t window[GV_PYTHON_WINDOW_BYTES];
};

/* `instruction` is in bytes from the code's start. 0: it has no line, or the table is invalid. */
int32_t gv_python_line(unsigned minor, struct gv_python_table *table, int32_t first_line,
                       size_t instruction);

#endif
