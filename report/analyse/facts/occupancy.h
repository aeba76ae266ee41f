/* The share of a multiprocessor's warps that a kernel's blocks can fill. */
#ifndef GV_ANALYSE_FACTS_OCCUPANCY_H
#define GV_ANALYSE_FACTS_OCCUPANCY_H

#include <stdint.h>

struct gv_occupancy_use {
    int64_t capability; /* 90 is 9.0 */
    int64_t threads;    /* of a block */
    int64_t registers;  /* of a thread */
    int64_t shared_bytes;
};

/* 0 to 1; negative: unknown. */
double gv_occupancy(const struct gv_occupancy_use *use);

#endif
