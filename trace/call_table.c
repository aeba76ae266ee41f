#include "trace/call_table.h"

#include "trace/same_text.h"

#include <stdatomic.h>

/* How CUDA names such calls; known at compile time. */
#define END(symbol) &(symbol)[sizeof(symbol) > 6 ? sizeof(symbol) - 6 : 0]
#define PER_THREAD(symbol)                                                                         \
    (!__builtin_strcmp(END(symbol), "_ptsz") || !__builtin_strcmp(END(symbol), "_ptds"))

const struct gv_api_row gv_api_rows[GV_API_COUNT] = {
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    [GV_ID_##symbol] = {#symbol, GV_KIND_##kind, GV_CLASS_OF_##kind, PER_THREAD(#symbol)},
#include "trace/calls.inc"
};

/* The flags' short names, as call_kinds.def writes them. */
enum {
#define GV_CALL_FLAG(name, bit) name = GV_CALL_##name,
#include "trace/call_flags.def"
};

const struct gv_call_kind_row gv_call_kinds[GV_KIND_COUNT + 1] = {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags)                      \
    [GV_KIND_##name] = {#name,                                                                     \
                        GV_CLASS_##class,                                                          \
                        GV_SCOPE_##scope,                                                          \
                        GV_GPU_WORK_##work,                                                        \
                        GV_MEMORY_##memory,                                                        \
                        GV_STOPPED_##stopped != GV_STOPPED_FOLLOW,                                 \
                        (uint32_t)(flags)},
#include "trace/call_kinds.def"
    [GV_KIND_COUNT] = {.class = GV_CLASS_COUNT, .flags = GV_CALL_WORKS},
};

const struct gv_api_class_row gv_api_class_rows[GV_CLASS_COUNT] = {
#define GV_API_CLASS(name, text, room, recorded)                                                   \
    [GV_CLASS_##name] = {text, GV_ROOM_##room, recorded},
#include "trace/call_classes.def"
};

/*
 * Looks up names in a hash table that the first caller fills. Others meanwhile fill the same cells
 * with the same values, so nobody waits: this runs inside dlsym().
 */
#define CELLS 2048u

_Static_assert(GV_API_COUNT * 2 < CELLS, "the table of names is at most half full");

static _Atomic uint16_t cells[CELLS]; /* api + 1; 0: empty */
static _Atomic int filled;

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash ^ hash >> 15;
}

static void insert(unsigned api)
{
    for (uint32_t cell = name_hash(gv_api_rows[api].name);; cell++) {
        uint16_t empty = 0;
        uint16_t mine = (uint16_t)(api + 1);

        if (atomic_compare_exchange_strong(&cells[cell % CELLS], &empty, mine) || empty == mine)
            return;
    }
}

int gv_api_find(const char *name)
{
    if (!atomic_load_explicit(&filled, memory_order_acquire)) {
        for (unsigned api = 0; api < GV_API_COUNT; api++)
            insert(api);
        atomic_store_explicit(&filled, 1, memory_order_release);
    }
    for (uint32_t cell = name_hash(name);; cell++) {
        unsigned found = atomic_load_explicit(&cells[cell % CELLS], memory_order_relaxed);

        if (found == 0)
            return GV_API_UNKNOWN;
        if (gv_same_text(gv_api_rows[found - 1].name, name))
            return (int)found - 1;
    }
}

enum gv_call_kind gv_call_kind_find(const char *name, const char *class_name)
{
    int api = gv_api_find(name), kind = 0;

    if (api != GV_API_UNKNOWN)
        return gv_api_rows[api].kind;
    while (kind < GV_KIND_COUNT &&
           !gv_same_text(gv_api_class_rows[gv_call_kinds[kind].class].name, class_name))
        kind++;
    return (enum gv_call_kind)kind;
}

enum gv_api_class gv_api_class_find(const char *class_name)
{
    int class = 0;

    while (class < GV_CLASS_COUNT && !gv_same_text(gv_api_class_rows[class].name, class_name))
        class ++;
    return (enum gv_api_class) class;
}

bool gv_api_is_runtime(const char *name)
{
    return gv_begins_with(name, "cuda") || gv_begins_with(name, "__cuda");
}

bool gv_api_is_per_thread(const char *name)
{
    int api = gv_api_find(name);

    return api != GV_API_UNKNOWN && gv_api_rows[api].per_thread;
}
