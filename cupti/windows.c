#include "cupti/windows.h"

#include "trace/mix.h"

#include <stdatomic.h>

#define STALL_WINDOWS 2u /* the length of a window after a stall, in usual ones */

static uint64_t window_ns, every_ns;
static uint64_t random_bits;
static uint64_t period_ns;              /* when the next period without a window begins */
static uint64_t next_ns;                /* when the next chosen window does */
static uint64_t end_ns;                 /* of the open one, or the last one */
static _Atomic uint64_t after_stall_ns; /* the end of a window that a stall has asked for */
static _Atomic uint64_t stall_again_ns; /* no such window before */

static bool is_always(void)
{
    return window_ns == 0 || window_ns >= every_ns;
}

/* In the period that begins at period_ns. The upper bits of a mix are the better ones. */
static void choose_next(void)
{
    random_bits = gv_mix(random_bits, period_ns);
    next_ns = period_ns + (random_bits >> 16) % (every_ns - window_ns + 1);
    period_ns += every_ns;
}

void gv_windows_begin(uint64_t now_ns)
{
    if (is_always())
        return;
    end_ns = now_ns + window_ns;
    period_ns = end_ns;
    choose_next();
}

void gv_windows_prepare(uint64_t window_ms, uint64_t every_ms, uint64_t now_ns)
{
    window_ns = window_ms * 1000000u;
    every_ns = every_ms * 1000000u;
    random_bits = now_ns;
    atomic_store(&after_stall_ns, 0);
    atomic_store(&stall_again_ns, 0);
    gv_windows_begin(now_ns);
}

bool gv_windows_after_stall(uint64_t now_ns)
{
    uint64_t again_ns = atomic_load(&stall_again_ns);

    if (is_always() || now_ns < again_ns ||
        !atomic_compare_exchange_strong(&stall_again_ns, &again_ns, now_ns + every_ns))
        return false;
    atomic_store(&after_stall_ns, now_ns + STALL_WINDOWS * window_ns);
    return true;
}

bool gv_windows_are_open(uint64_t now_ns, uint64_t *chosen_end_ns)
{
    uint64_t asked_ns = atomic_load(&after_stall_ns);

    *chosen_end_ns = 0;
    if (is_always())
        return true;
    while (now_ns >= next_ns) {
        if (now_ns < next_ns + window_ns)
            *chosen_end_ns = next_ns + window_ns;
        choose_next();
    }
    if (end_ns < asked_ns)
        end_ns = asked_ns;
    if (end_ns < *chosen_end_ns)
        end_ns = *chosen_end_ns;
    return now_ns < end_ns;
}

uint64_t gv_windows_lasts_ns(uint64_t now_ns)
{
    uint64_t change_ns = now_ns < end_ns && end_ns < next_ns ? end_ns : next_ns;

    if (is_always())
        return UINT64_MAX;
    return now_ns < change_ns ? change_ns - now_ns : 0;
}
