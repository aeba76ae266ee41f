#include "preload/stacks/python_memory.h"

#include "preload/base/own_memory.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#define BLOCK_BYTES  64u
#define BLOCKS       1024u /* the most ranges of one system call, too */
#define INDEX        (2 * BLOCKS)
#define THREADS_MOST 8u
#define PAGE_BYTES   4096u
#define PAGES        4u /* the frames of Python code lie upwards, one behind the other */
#define PLACES       2u /* and those that were called from C alternate with some on the stack */

struct gv_python_memory {
    _Atomic bool taken;
    _Atomic uint64_t whose; /* pid << 32 | tid: the last one */
    uint32_t pid;           /* 0: this process */
    unsigned count;         /* blocks */
    uintptr_t at[BLOCKS];   /* start of each */
    bool used[BLOCKS];      /* by this stack */
    uint16_t index[INDEX];  /* open addressing by start: block plus one */
    bool is_planned;        /* `ranges` are exactly these blocks, */
    unsigned range_count;
    struct iovec ranges[BLOCKS];
    unsigned char bytes[BLOCKS][BLOCK_BYTES];
    unsigned next_place; /* the oldest */
    uintptr_t page_at[PLACES][PAGES];
    unsigned char pages[PLACES][PAGES][PAGE_BYTES];
};

static struct gv_python_memory memories[THREADS_MOST][GV_PYTHON_USES];

/* ---- the index of blocks ---- */

/* Its cell, or a free one. There always is one: half of them are. */
static uint16_t *cell_of(struct gv_python_memory *memory, uintptr_t begin)
{
    unsigned i = (unsigned)((begin / BLOCK_BYTES * 0x9fb21c651e98df25u) >> 48) % INDEX;

    while (memory->index[i] && memory->at[memory->index[i] - 1] != begin)
        i = (i + 1) % INDEX;
    return &memory->index[i];
}

static void keep_first(struct gv_python_memory *memory, unsigned count)
{
    memset(memory->index, 0, sizeof memory->index);
    memory->count = count;
    memory->is_planned = false;
    for (unsigned i = 0; i < count; i++)
        *cell_of(memory, memory->at[i]) = (uint16_t)(i + 1);
}

static void add(struct gv_python_memory *memory, uint16_t *cell, uintptr_t begin)
{
    memory->at[memory->count] = begin;
    memory->used[memory->count] = false;
    memory->is_planned = false;
    *cell = (uint16_t)++memory->count;
}

/* ---- reading what the last stack needed ---- */

/* Keeps the blocks that were used, sorted by address: most of them are already. */
static void sort_used(struct gv_python_memory *memory)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < memory->count; i++) {
        uintptr_t begin = memory->at[i];
        unsigned into = kept;

        if (!memory->used[i])
            continue;
        for (; into > 0 && memory->at[into - 1] > begin; into--)
            memory->at[into] = memory->at[into - 1];
        memory->at[into] = begin;
        kept++;
    }
    keep_first(memory, kept);
}

/* As few ranges as possible for the blocks from `first` on. */
static unsigned plan(struct gv_python_memory *memory, unsigned first)
{
    unsigned count = 0;

    for (unsigned i = first; i < memory->count; i++)
        if (i > first && memory->at[i] == memory->at[i - 1] + BLOCK_BYTES)
            memory->ranges[count - 1].iov_len += BLOCK_BYTES;
        else
            memory->ranges[count++] = (struct iovec){(void *)memory->at[i], BLOCK_BYTES};
    return count;
}

/* How many bytes of the ranges were read, until the first that is not there. */
static size_t gather(const struct gv_python_memory *memory, void *to, const struct iovec *ranges,
                     unsigned count)
{
    return memory->pid ? gv_other_memory_gather(memory->pid, to, ranges, count)
                       : gv_own_memory_gather(to, ranges, count);
}

static void read_planned(struct gv_python_memory *memory, unsigned first, unsigned count)
{
    size_t whole;

    if (count == 0)
        return;
    whole = gather(memory, memory->bytes[first], memory->ranges, count) / BLOCK_BYTES;
    if (first + whole < memory->count)
        keep_first(memory, first + (unsigned)whole); /* the rest is gone */
}

void gv_python_memory_renew(struct gv_python_memory *memory)
{
    if (!memory->is_planned || memchr(memory->used, false, memory->count)) {
        sort_used(memory);
        memory->range_count = plan(memory, 0);
        memory->is_planned = true;
    }
    memset(memory->used, false, memory->count);
    memset(memory->page_at, 0, sizeof memory->page_at);
    read_planned(memory, 0, memory->range_count);
}

struct gv_python_memory *gv_python_memory_take(uint32_t pid, uint32_t tid, enum gv_python_use use)
{
    uint64_t whose = (uint64_t)pid << 32 | tid;

    for (unsigned any = 0; any < 2; any++)
        for (unsigned i = 0; i < THREADS_MOST; i++) {
            struct gv_python_memory *memory = &memories[(tid + i) % THREADS_MOST][use];
            bool is_mine = atomic_load_explicit(&memory->whose, memory_order_relaxed) == whose;

            if ((!any && !is_mine) || atomic_exchange(&memory->taken, true))
                continue;
            if (!is_mine)
                keep_first(memory, 0);
            atomic_store_explicit(&memory->whose, whose, memory_order_relaxed);
            memory->pid = pid;
            gv_python_memory_renew(memory);
            return memory;
        }
    return NULL;
}

void gv_python_memory_give_back(struct gv_python_memory *memory)
{
    atomic_store(&memory->taken, false);
}

void gv_python_memory_start_over(void)
{
    for (unsigned i = 0; i < THREADS_MOST; i++)
        for (unsigned use = 0; use < GV_PYTHON_USES; use++)
            atomic_store(&memories[i][use].taken, false);
}

/* ---- reading more ---- */

struct word {
    uint64_t value;
} __attribute__((packed, may_alias));

/* Not memcpy(): sanitizers would check what lies around an object. */
bool gv_python_memory_copy(void *to, uintptr_t from, size_t bytes)
{
    unsigned char *out = to;

    if (from < GV_PYTHON_MEMORY_LOW || from >= GV_PYTHON_MEMORY_HIGH - bytes)
        return false;
    for (; bytes >= sizeof(struct word); bytes -= sizeof(struct word)) {
        ((struct word *)out)->value = ((const volatile struct word *)from)->value;
        out += sizeof(struct word);
        from += sizeof(struct word);
    }
    for (; bytes; bytes--)
        *out++ = *(const volatile unsigned char *)from++;
    return true;
}

bool gv_python_memory_read_now(const struct gv_python_memory *memory, void *to, uintptr_t from,
                               size_t bytes)
{
    if (!memory)
        return gv_python_memory_copy(to, from, bytes);
    return memory->pid ? gv_other_memory_read(memory->pid, to, from, bytes)
                       : gv_own_memory_read(to, from, bytes);
}

/* A block starts at a multiple of its size, so it is in one page, and readable as a whole or not
 * at all. */
static const unsigned char *block_of(struct gv_python_memory *memory, uintptr_t begin)
{
    uint16_t *cell = cell_of(memory, begin);
    unsigned block = *cell ? *cell - 1u : memory->count;

    if (!*cell) {
        if (memory->count == BLOCKS) { /* a very long list of frames */
            keep_first(memory, 0);
            cell = cell_of(memory, begin);
            block = 0;
        }
        if (!gv_python_memory_read_now(memory, memory->bytes[block], begin, BLOCK_BYTES))
            return NULL;
        add(memory, cell, begin);
    }
    memory->used[block] = true;
    return memory->bytes[block];
}

bool gv_python_memory_read_blocks(struct gv_python_memory *memory, void *to, uintptr_t from,
                                  size_t bytes)
{
    unsigned char *out = to;

    while (bytes) {
        uintptr_t begin = from - from % BLOCK_BYTES;
        size_t skipped = from - begin, part = BLOCK_BYTES - skipped;
        const unsigned char *block = begin ? block_of(memory, begin) : NULL;

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

/* Reads it with those before it, where the caller's frames are. */
static const unsigned char *page_of(struct gv_python_memory *memory, uintptr_t begin)
{
    struct iovec ranges[PAGES];
    unsigned place = memory->next_place;
    size_t whole;

    for (unsigned i = 0; i < PLACES; i++)
        for (unsigned k = 0; k < PAGES; k++)
            if (memory->page_at[i][k] == begin)
                return memory->pages[i][k];
    memory->next_place = (place + 1) % PLACES;
    for (unsigned k = 0; k < PAGES; k++)
        ranges[k] = (struct iovec){(void *)(begin - k * PAGE_BYTES), PAGE_BYTES};
    whole = gather(memory, memory->pages[place], ranges, PAGES) / PAGE_BYTES;
    for (unsigned k = 0; k < PAGES; k++)
        memory->page_at[place][k] = k < whole ? begin - k * PAGE_BYTES : 0;
    return whole ? memory->pages[place][0] : NULL;
}

bool gv_python_memory_glance(struct gv_python_memory *memory, void *to, uintptr_t from,
                             size_t bytes)
{
    uintptr_t begin = from - from % PAGE_BYTES;
    const unsigned char *page;

    if (!memory)
        return gv_python_memory_copy(to, from, bytes);
    if (from - begin + bytes > PAGE_BYTES)
        return gv_python_memory_read_now(memory, to, from, bytes);
    page = begin ? page_of(memory, begin) : NULL;
    if (page)
        memcpy(to, page + (from - begin), bytes);
    return page;
}

void gv_python_memory_bring(struct gv_python_memory *memory, const struct gv_python_range *ranges,
                            unsigned count)
{
    unsigned first = memory->count;

    for (unsigned i = 0; i < count; i++) {
        uintptr_t at = ranges[i].from - ranges[i].from % BLOCK_BYTES;

        for (; at && at < ranges[i].from + ranges[i].bytes; at += BLOCK_BYTES) {
            uint16_t *cell = cell_of(memory, at);

            if (!*cell && memory->count < BLOCKS)
                add(memory, cell, at);
        }
    }
    read_planned(memory, first, plan(memory, first));
}
