/*
 * What one stack needs of the interpreter's memory: read through the Linux kernel, or directly.
 *
 * Through the kernel, a wrong pointer is noticed. A system call costs more than copying, so it
 * reads blocks, and begins each stack with all blocks that the thread's last stack needed, in one
 * call. A thread takes one of a few fixed memories, if possible the one that it had the last time.
 * What is read is valid until it begins again: changes by other threads meanwhile are not seen. The
 * memory may be that of another process.
 *
 * Directly, without a memory (NULL): only what is sure to be there. A pointer that no object can
 * have is refused.
 */
#ifndef GV_STACKS_PYTHON_MEMORY_H
#define GV_STACKS_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_python_memory;

struct gv_python_range {
    uintptr_t from;
    size_t bytes;
};

/* For what: a memory expects the blocks of the last time that it had the same use. */
enum gv_python_use {
    GV_PYTHON_WHOLE_STACK,
    GV_PYTHON_TOP_FRAME,
    GV_PYTHON_THREADS,      /* interpreters, their threads, the GIL */
    GV_PYTHON_OTHER_FRAMES, /* of a thread that runs meanwhile */
    GV_PYTHON_OTHER_CODE,   /* what those frames run */
    GV_PYTHON_USES
};

/* Of this process (pid 0) or another one. NULL: too many threads take a stack just now. */
struct gv_python_memory *gv_python_memory_take(uint32_t pid, uint32_t tid, enum gv_python_use use);

/* Begins again: what the reads since the last time needed is read anew, at once. */
void gv_python_memory_renew(struct gv_python_memory *memory);

/* In a forked child: the threads that had one are not here. */
void gv_python_memory_start_over(void);
void gv_python_memory_give_back(struct gv_python_memory *memory);

/* Below this address and from GV_PYTHON_MEMORY_HIGH on, there is no object. A small number is still
 * below it when the offset of a field is added. */
#define GV_PYTHON_MEMORY_LOW (1u << 20)
#if defined(__aarch64__)
#define GV_PYTHON_MEMORY_HIGH (UINT64_C(1) << 48)
#else
#define GV_PYTHON_MEMORY_HIGH (UINT64_C(1) << 47)
#endif

/* A number is at a multiple of its size, and a part of an object at one of 8. */
static inline bool gv_python_memory_is_odd(uintptr_t from, size_t bytes)
{
    return from < GV_PYTHON_MEMORY_LOW || from >= GV_PYTHON_MEMORY_HIGH - bytes ||
           from % (bytes < sizeof(uint64_t) ? bytes : sizeof(uint64_t)) != 0;
}

bool gv_python_memory_read_blocks(struct gv_python_memory *memory, void *to, uintptr_t from,
                                  size_t bytes);
bool gv_python_memory_copy(void *to, uintptr_t from, size_t bytes);

#define GV_PYTHON_MEMORY_PART 32u /* of an object */

/* True when all of it was read. Numbers and parts of objects are loaded without a call. */
static inline bool gv_python_memory_read(struct gv_python_memory *memory, void *to, uintptr_t from,
                                         size_t bytes)
{
    if (memory)
        return gv_python_memory_read_blocks(memory, to, from, bytes);
    if (!__builtin_constant_p(bytes) || bytes > GV_PYTHON_MEMORY_PART)
        return gv_python_memory_copy(to, from, bytes);
    if (gv_python_memory_is_odd(from, bytes))
        return false;
    __builtin_memcpy(to, (const void *)from, bytes);
    return true;
}

/* For what the next stack will hardly need: reads the page around it and some before it, unless
 * they are of the last few, and the next stack does not begin with it. */
bool gv_python_memory_glance(struct gv_python_memory *memory, void *to, uintptr_t from,
                             size_t bytes);

/* What is there now, whatever was read before. */
bool gv_python_memory_read_now(const struct gv_python_memory *memory, void *to, uintptr_t from,
                               size_t bytes);

/* Reads several ranges at once, for the reads that follow. Missing ones are noticed then. */
void gv_python_memory_bring(struct gv_python_memory *memory, const struct gv_python_range *ranges,
                            unsigned count);

static inline bool gv_python_memory_pointer(struct gv_python_memory *memory, uintptr_t from,
                                            uintptr_t *value)
{
    return gv_python_memory_read(memory, value, from, sizeof(*value));
}

#endif
