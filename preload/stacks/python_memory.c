#include "preload/stacks/python_memory.h"

#include "preload/base/own_memory.h"

#include <string.h>
#include <sys/uio.h>

/* Blocks that one call reads: half of the cache, so that it does not evict its own. */
#define GV_PYTHON_BROUGHT (GV_PYTHON_BLOCKS / 2)

void gv_python_memory_forget(struct gv_python_memory *memory)
{
    memset(memory->at, 0, sizeof memory->at);
    memory->last = memory->oldest = 0;
}

static bool has(struct gv_python_memory *memory, uintptr_t begin)
{
    if (memory->at[memory->last] == begin)
        return true;
    for (unsigned i = 0; i < GV_PYTHON_BLOCKS; i++)
        if (memory->at[i] == begin) {
            memory->last = i;
            return true;
        }
    return false;
}

static unsigned take_oldest(struct gv_python_memory *memory, uintptr_t begin)
{
    unsigned block = memory->oldest;

    memory->oldest = (block + 1) % GV_PYTHON_BLOCKS;
    memory->at[block] = begin;
    return block;
}

/* A block starts at a multiple of its size, so it is in one page, and readable as a whole or not
 * at all. */
static const unsigned char *block_of(struct gv_python_memory *memory, uintptr_t begin)
{
    if (begin == 0)
        return NULL;
    if (!has(memory, begin)) {
        unsigned block = take_oldest(memory, begin);

        memory->last = block;
        if (!gv_own_memory_read(memory->bytes[block], begin, GV_PYTHON_BLOCK_BYTES)) {
            memory->at[block] = 0;
            return NULL;
        }
    }
    return memory->bytes[memory->last];
}

bool gv_python_memory_read(struct gv_python_memory *memory, void *to, uintptr_t from, size_t bytes)
{
    unsigned char *out = to;

    while (bytes) {
        uintptr_t begin = from - from % GV_PYTHON_BLOCK_BYTES;
        size_t skipped = from - begin, part = GV_PYTHON_BLOCK_BYTES - skipped;
        const unsigned char *block = block_of(memory, begin);

        if (!block)
            return false;
        if (part > bytes)
            part = bytes;
        memcpy(out, block + skipped, part);
        out += part;
        from += part;
        bytes -= part;
    }
    return true;
}

void gv_python_memory_bring(struct gv_python_memory *memory, const struct gv_python_range *ranges,
                            unsigned count)
{
    struct iovec here[GV_PYTHON_BROUGHT], there[GV_PYTHON_BROUGHT];
    unsigned blocks[GV_PYTHON_BROUGHT], wanted = 0;

    for (unsigned i = 0; i < count; i++) {
        uintptr_t at = ranges[i].from - ranges[i].from % GV_PYTHON_BLOCK_BYTES;

        for (; at && at < ranges[i].from + ranges[i].bytes; at += GV_PYTHON_BLOCK_BYTES) {
            if (wanted == GV_PYTHON_BROUGHT || has(memory, at))
                continue;
            unsigned block = blocks[wanted] = take_oldest(memory, at);
            here[wanted] = (struct iovec){memory->bytes[block], GV_PYTHON_BLOCK_BYTES};
            there[wanted++] = (struct iovec){(void *)at, GV_PYTHON_BLOCK_BYTES};
        }
    }
    if (wanted == 0)
        return;
    for (unsigned i = gv_own_memory_read_several(here, there, wanted); i < wanted; i++)
        memory->at[blocks[i]] = 0;
}
