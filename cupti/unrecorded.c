#include "cupti/unrecorded.h"

#include <stdatomic.h>

#define STOPS 16u /* queues are not deeper */
#define FAR   (1u << 30)

/* Each in the low half; the high half has the stop, as threads may still be noting an older one. */
struct ends {
    _Atomic uint64_t first, last;
};

static struct ends stops[STOPS];

/* Threads that call at the same time note their numbers in any order. */
static void widen(_Atomic uint64_t *end, uint32_t stop, uint32_t number, bool is_last)
{
    uint64_t noted = atomic_load_explicit(end, memory_order_relaxed);

    while (noted >> 32 != stop || (is_last ? (int32_t)(number - (uint32_t)noted) > 0
                                           : (int32_t)((uint32_t)noted - number) > 0))
        if (atomic_compare_exchange_weak(end, &noted, (uint64_t)stop << 32 | number))
            return;
}

void gv_unrecorded_note(uint32_t stop, uint32_t number)
{
    struct ends *ends = &stops[stop / 2 % STOPS];

    widen(&ends->first, stop, number, false);
    widen(&ends->last, stop, number, true);
}

bool gv_unrecorded_has(uint32_t number)
{
    for (unsigned i = 0; i < STOPS; i++) {
        uint64_t first = atomic_load(&stops[i].first), last = atomic_load(&stops[i].last);

        if (!last || first >> 32 != last >> 32)
            continue;
        if (number - (uint32_t)first <= (uint32_t)last - (uint32_t)first)
            return true;
        if ((int32_t)(number - (uint32_t)last) > (int32_t)FAR)
            atomic_compare_exchange_strong(&stops[i].last, &last, 0);
    }
    return false;
}
