/*
 * A set of hashes, each with a number, which is never emptied. Any thread; lock-free.
 */
#ifndef GV_STACKS_KNOWN_H
#define GV_STACKS_KNOWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_KNOWN_BITS    13
#define GV_KNOWN_CELLS   (1u << GV_KNOWN_BITS)
#define GV_KNOWN_FULL_AT (GV_KNOWN_CELLS / 4 * 3)

struct gv_known_hash {
    _Atomic uint64_t hash; /* 0: free */
    _Atomic uint32_t number;
};
struct gv_known {
    struct gv_known_hash at[GV_KNOWN_CELLS];
    _Atomic uint32_t count;
};

/* The first cell to look for the hash. All that was mixed into it is in its uppermost bits. */
static inline unsigned gv_known_cell(uint64_t hash)
{
    return (unsigned)(hash >> (64 - GV_KNOWN_BITS));
}

static inline bool gv_known_is_full(struct gv_known *known)
{
    return atomic_load_explicit(&known->count, memory_order_relaxed) >= GV_KNOWN_FULL_AT;
}

/* The cell with this hash; NULL: none. *is_new: it was given this hash just now, which happens
 * only if `add`; the caller gives it its number. */
static inline struct gv_known_hash *gv_known_find(struct gv_known *known, uint64_t hash, bool add,
                                                  bool *is_new)
{
    *is_new = false;
    for (unsigned i = 0; i < GV_KNOWN_CELLS; i++) {
        struct gv_known_hash *cell = &known->at[(gv_known_cell(hash) + i) % GV_KNOWN_CELLS];
        uint64_t found = atomic_load_explicit(&cell->hash, memory_order_acquire);

        if (found == hash)
            return cell;
        if (found)
            continue;
        if (!add || gv_known_is_full(known))
            return NULL;
        if (!atomic_compare_exchange_strong(&cell->hash, &found, hash)) {
            i--;
            continue;
        }
        *is_new = true;
        return cell;
    }
    return NULL;
}

#endif
