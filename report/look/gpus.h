/*
 * What NVIDIA's management library says now: each GPU, and the processes that use it.
 *
 * It is asked in a process of its own, which is ended if the library does not answer: a driver in
 * trouble may not, for long. One thread.
 */
#ifndef GV_LOOK_GPUS_H
#define GV_LOOK_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#define GV_LOOK_GPUS      64u
#define GV_LOOK_GPU_USERS 128u

/* Unknown numbers are -1. */
struct gv_look_gpu {
    char name[96]; /* "": unknown */
    int32_t busy;  /* percent of the last second or less */
    int32_t sm_mhz;
    int64_t used_bytes, total_bytes;
    uint32_t users;
    struct {
        uint32_t pid;
        int64_t bytes;
    } user[GV_LOOK_GPU_USERS];
};

struct gv_look_gpus {
    uint32_t count;
    struct gv_look_gpu gpu[GV_LOOK_GPUS];
};

/* Without the library, or an answer, there are none. */
void gv_look_gpus(struct gv_look_gpus *gpus);

/* Whether a process uses it, and its memory there; NULL of `bytes`: not wanted. */
bool gv_look_gpu_is_of(const struct gv_look_gpu *gpu, uint32_t pid, int64_t *bytes);
/* How busy the busiest GPU of a process is; -1: not known. */
int gv_look_gpus_busy(const struct gv_look_gpus *gpus, uint32_t pid);

#endif
