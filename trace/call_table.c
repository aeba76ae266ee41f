#include "trace/call_table.h"

#include "trace/same_text.h"

#include <stdatomic.h>

const struct gv_api_row gv_api_rows[GV_API_COUNT] = {
#define GV_API(symbol, class, type, parameters, arguments, facts)                                  \
    [GV_ID_##symbol] = {#symbol, GV_CLASS_##class},
#include "trace/calls.def"
};

const struct gv_api_class_row gv_api_class_rows[GV_CLASS_COUNT] = {
#define GV_API_CLASS(name, text, room, recorded)                                                   \
    [GV_CLASS_##name] = {text, GV_ROOM_##room, recorded},
#include "trace/call_classes.def"
};

/*
 * Names are found through a hash table that the first caller fills. Whoever comes meanwhile fills
 * the same cells with the same values, so nobody waits: this runs inside dlsym().
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
