/*
 * The interpreter's memory while one stack is taken: read through the kernel, a block at a time,
 * and kept, because what belongs together lies together, and a system call costs more than it
 * copies.
 *
 * For a moment only: what another thread changes meanwhile is not seen.
 */
#ifndef GV_STACKS_PYTHON_MEMORY_H
#define GV_STACKS_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_PYTHON_BLOCKS      48u
#define GV_PYTHON_BLOCK_BYTES 256u

struct gv_python_memory {
    uintptr_t at[GV_PYTHON_BLOCKS]; /* where a block begins; 0: none */
    unsigned last;                  /* the one that was asked for */
    unsigned oldest;
    unsigned char bytes[GV_PYTHON_BLOCKS][GV_PYTHON_BLOCK_BYTES];
};

struct gv_python_range {
    uintptr_t from;
    size_t bytes;
};

void gv_python_memory_forget(struct gv_python_memory *memory);

/* True when all of it was read. */
bool gv_python_memory_read(struct gv_python_memory *memory, void *to, uintptr_t from, size_t bytes);

/* Several at once, for who reads them next. That some are not there is found out by reading. */
void gv_python_memory_bring(struct gv_python_memory *memory, const struct gv_python_range *ranges,
                            unsigned count);

static inline bool gv_python_memory_pointer(struct gv_python_memory *memory, uintptr_t from,
                                            uintptr_t *value)
{
    return gv_python_memory_read(memory, value, from, sizeof(*value));
}

#endif
