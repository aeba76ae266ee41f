/* The client's clock. Converts the simulator's times to it, to some 50 ns. */
#include "tests/sim/cupti/cupti_sim.h"

#include <time.h>

#define TRIES 16

static CUpti_TimestampCallbackFunc _Atomic client;

static uint64_t realtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void gv_cupti_clock_set(CUpti_TimestampCallbackFunc function)
{
    atomic_store(&client, function);
}

uint64_t gv_cupti_clock_now(void)
{
    CUpti_TimestampCallbackFunc function = atomic_load(&client);
    return function ? function() : realtime();
}

/*
 * Uses the try with the least time between two readings of one clock. An earlier result stays as
 * long as it can be true, so that the order of times is kept.
 */
uint64_t gv_cupti_clock_at(uint64_t sim_ns)
{
    static _Atomic uint64_t last;
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    uint64_t least = UINT64_MAX, offset = 0, known = atomic_load(&last);
    for (int i = 0; i < TRIES && least > 100; i++) {
        uint64_t before = driver->now_ns(), now = gv_cupti_clock_now(), after = driver->now_ns();
        if (after - before < least) {
            least = after - before;
            offset = now - (before + least / 2);
        }
    }
    if (known - offset + least / 2 > least)
        atomic_store(&last, known = offset);
    return sim_ns + known;
}
