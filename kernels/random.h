/* Random numbers that are the same in each run: xorshift. A state is never 0. */
#ifndef GV_KERNELS_RANDOM_H
#define GV_KERNELS_RANDOM_H

#include <stdint.h>

#define GV_RANDOM_START 88172645463325252u

static inline uint64_t gv_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint32_t gv_random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((gv_random(state) >> 20) % limit);
}

#endif
