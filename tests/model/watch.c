/*
 * The plain memory that the threads of a case share: which thread accessed which bytes at which
 * clock, to find accesses without an order; and the old contents, to undo an execution.
 */
#include "tests/model/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRANULE_BYTES 8u
#define MOST_REGIONS  6
#define MOST_UNDONE   65536

enum watch_access { WATCH_READ, WATCH_WRITE, WATCH_ATOMIC_READ, WATCH_ATOMIC_WRITE, WATCH_KINDS };

struct mark {
    uint16_t clock[MODEL_THREADS];
    uint8_t bytes[MODEL_THREADS];
};

struct granule {
    struct mark marks[WATCH_KINDS];
    bool touched;
};

struct region {
    char *start;
    size_t bytes;
    char *original;
    model_namer namer;
    struct granule *granules;
};

struct undo {
    char *at;
    uint8_t bytes;
    unsigned char old[GRANULE_BYTES];
};

static struct region regions[MOST_REGIONS];
static size_t region_count;
static struct undo undone[MOST_UNDONE];
static size_t undo_count;
static struct granule *touched[MOST_UNDONE];
static size_t touched_count;

/* ---- ranges ---- */

void model_share(void *start, size_t bytes, model_namer namer)
{
    struct region *region = &regions[region_count];

    if (region_count++ == MOST_REGIONS)
        abort();
    *region = (struct region){.start = start, .bytes = bytes, .original = start, .namer = namer};
    region->granules = calloc(bytes / GRANULE_BYTES + 1, sizeof *region->granules);
    if (!region->granules)
        abort();
}

void model_alias(void *start, size_t bytes, void *original)
{
    if (region_count == MOST_REGIONS)
        abort();
    regions[region_count++] = (struct region){.start = start, .bytes = bytes, .original = original};
}

/* The range of an address, and the offset in it. */
static struct region *find_region(char **address)
{
    for (size_t i = 0; i < region_count; i++) {
        struct region *region = &regions[i];

        if (*address < region->start || *address >= region->start + region->bytes)
            continue;
        if (region->granules)
            return region;
        *address = region->original + (*address - region->start);
        return find_region(address);
    }
    return NULL;
}

bool watch_name(char *address, char name[MODEL_NAME_BYTES])
{
    struct region *region = find_region(&address);

    if (region)
        return region->namer((size_t)(address - region->start), name);
    snprintf(name, MODEL_NAME_BYTES, "memory of one process");
    return true;
}

void watch_keep(char *address, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += GRANULE_BYTES) {
        struct undo *undo = &undone[undo_count];

        if (undo_count++ == MOST_UNDONE)
            engine_fail("more stores in one execution than can be undone");
        undo->at = address + at;
        undo->bytes = (uint8_t)(bytes - at < GRANULE_BYTES ? bytes - at : GRANULE_BYTES);
        memcpy(undo->old, undo->at, undo->bytes);
    }
}

/* ---- data races ---- */

static const bool conflicts[WATCH_KINDS][WATCH_KINDS] = {
    [WATCH_READ] = {[WATCH_WRITE] = true, [WATCH_ATOMIC_WRITE] = true},
    [WATCH_WRITE] = {true, true, true, true},
    [WATCH_ATOMIC_READ] = {[WATCH_WRITE] = true},
    [WATCH_ATOMIC_WRITE] = {[WATCH_READ] = true, [WATCH_WRITE] = true},
};

static void check_race(struct granule *granule, char *address, uint8_t mask,
                       enum watch_access access)
{
    const uint16_t *clock = memory_clock(model_running());

    for (int kind = 0; kind < WATCH_KINDS; kind++)
        for (int other = 0; other < MODEL_THREADS; other++) {
            char name[MODEL_NAME_BYTES];

            if (!conflicts[access][kind] || other == model_running() ||
                granule->marks[kind].clock[other] <= clock[other] ||
                !(granule->marks[kind].bytes[other] & mask))
                continue;
            if (watch_name(address, name))
                engine_fail("data race on %s: the %s is not ordered after what the %s did", name,
                            engine_thread_name(model_running()), engine_thread_name(other));
        }
}

static void mark_granule(struct region *region, char *address, unsigned bytes,
                         enum watch_access access)
{
    size_t offset = (size_t)(address - region->start);
    struct granule *granule = &region->granules[offset / GRANULE_BYTES];
    struct mark *mark = &granule->marks[access];
    uint8_t mask = (uint8_t)(((1u << bytes) - 1) << offset % GRANULE_BYTES);
    int self = model_running();
    uint16_t clock = memory_clock(self)[self];

    check_race(granule, address, mask, access);
    if (!granule->touched) {
        if (touched_count == MOST_UNDONE)
            engine_fail("more memory accessed in one execution than can be watched");
        touched[touched_count++] = granule;
        granule->touched = true;
    }
    mark->bytes[self] = (uint8_t)(mark->clock[self] == clock ? mark->bytes[self] | mask : mask);
    mark->clock[self] = clock;
}

static void mark_range(char *address, size_t bytes, enum watch_access access)
{
    struct region *region = find_region(&address);

    if (!region)
        return;
    while (bytes > 0) {
        size_t offset = (size_t)(address - region->start) % GRANULE_BYTES;
        size_t piece = GRANULE_BYTES - offset < bytes ? GRANULE_BYTES - offset : bytes;

        mark_granule(region, address, (unsigned)piece, access);
        address += piece;
        bytes -= piece;
    }
}

void watch_access(const void *address, size_t bytes, bool write)
{
    char *at = (char *)(uintptr_t)address;

    if (model_running() < 0 || engine_is_stack(address))
        return;
    mark_range(at, bytes, write ? WATCH_WRITE : WATCH_READ);
    if (write)
        watch_keep(at, bytes);
}

void model_touch(void *start, size_t bytes, bool write)
{
    if (model_running() >= 0)
        mark_range(start, bytes, write ? WATCH_WRITE : WATCH_READ);
}

void watch_atomic(char *address, unsigned bytes, bool write)
{
    mark_range(address, bytes, write ? WATCH_ATOMIC_WRITE : WATCH_ATOMIC_READ);
}

char *watch_original(char *address)
{
    find_region(&address);
    return address;
}

/* ---- executions ---- */

void watch_undo(void)
{
    while (undo_count > 0) {
        undo_count--;
        memcpy(undone[undo_count].at, undone[undo_count].old, undone[undo_count].bytes);
    }
    while (touched_count > 0)
        memset(touched[--touched_count], 0, sizeof(struct granule));
}

void watch_forget(void)
{
    for (size_t i = 0; i < region_count; i++)
        free(regions[i].granules);
    region_count = 0;
}
