/*
 * Finds the line of an instruction in the line table of one of Python's code objects. Three
 * formats: line number table (3.9), line table (3.10), location table (3.11 and later).
 */
#ifndef GV_COLLECT_PYTHON_LINES_H
#define GV_COLLECT_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* As in the interpreter's memory; may be anything. */
struct gv_python_table {
    const uint8_t *data;
    size_t bytes;
    unsigned minor; /* of CPython 3 */
    int32_t first_line;
};

/* `instruction` is in bytes from the code's start. 0: it has no line, or the table is invalid. */
int32_t gv_python_line(const struct gv_python_table *table, uint32_t instruction);

#endif
