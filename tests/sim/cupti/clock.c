/* The client's clock. The simulator's times are carried over to it, some 20 ns exact. */
#include "tests/sim/cupti/cupti_sim.h"

#include <time.h>

#define TRIES 8

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

/* Of some tries the one in which least time passes between two readings of the one clock. */
uint64_t gv_cupti_clock_at(uint64_t sim_ns)
{
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    uint64_t best = UINT64_MAX, offset = 0;
    for (int i = 0; i < TRIES && best > 200; i++) {
        uint64_t before = driver->now_ns(), now = gv_cupti_clock_now(), after = driver->now_ns();
        if (after - before < best) {
            best = after - before;
            offset = now - (before + best / 2);
        }
    }
    return sim_ns + offset;
}
