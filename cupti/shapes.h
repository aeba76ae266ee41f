/*
 * Kernel names, and kernels with their launch configuration. Each is written into the spool once
 * and gets a number, so a launch takes one record. Only the module's thread.
 *
 * The tables have fixed sizes. A slot that is used again forgets its number; the next use gets a
 * new number and is written again.
 */
#ifndef GV_CUPTI_SHAPES_H
#define GV_CUPTI_SHAPES_H

#include <stdint.h>

struct gv_shape {
    uint32_t name; /* number */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t static_shared_bytes;
    uint32_t dynamic_shared_bytes;
    uint32_t local_bytes;
    uint32_t registers;
};

/* 0: it could not be written. */
uint32_t gv_shapes_name(const char *name);
uint32_t gv_shapes_number(const struct gv_shape *shape);

#endif
