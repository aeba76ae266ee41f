/*
 * A cache of the interpreter's memory while one stack is taken. It reads blocks through the Linux
 * kernel, because data that belongs together is close together, and a system call costs more than
 * copying.
 *
 * Short-lived: changes by other threads meanwhile are not seen.
 */
#ifndef GV_STACKS_PYTHON_MEMORY_H
#define GV_STACKS_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_PYTHON_BLOCKS      48u
#define GV_PYTHON_BLOCK_BYTES 256u

struct gv_python_memory {
    uintptr_t at[GV_PYTHON_BLOCKS]; /* start of a block; 0: none */
    unsigned last;                  /* the last one used */
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

/* Reads several blocks at once, for the reads that follow. Missing ones are noticed then. */
void gv_python_memory_bring(struct gv_python_memory *memory, const struct gv_python_range *ranges,
                            unsigned count);

static inline bool gv_python_memory_pointer(struct gv_python_memory *memory, uintptr_t from,
                                            uintptr_t *value)
{
    return gv_python_memory_read(memory, value, from, sizeof(*value));
}

#endif
