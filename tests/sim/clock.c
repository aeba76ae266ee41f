/* The simulator's clock is CLOCK_MONOTONIC. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <time.h>

/* A sleeper wakes up late by the kernel's timer slack, so the rest of a wait is spun. */
#define SPIN_NS 60000u

uint64_t gv_sim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void gv_sim_wait_until(uint64_t time_ns)
{
    uint64_t now = gv_sim_now_ns();
    if (time_ns > now + SPIN_NS) {
        uint64_t wake = time_ns - SPIN_NS;
        struct timespec at = {.tv_sec = (time_t)(wake / 1000000000u),
                              .tv_nsec = (long)(wake % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            continue;
    }
    while (gv_sim_now_ns() < time_ns)
        continue;
}

void gv_sim_pass(uint64_t duration_ns)
{
    if (duration_ns)
        gv_sim_wait_until(gv_sim_now_ns() + duration_ns);
}
