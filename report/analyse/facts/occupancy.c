#include "report/analyse/facts/occupancy.h"

#include <stdbool.h>
#include <stddef.h>

#define GV_WARP_THREADS        32
#define GV_THREADS_MOST        65536 /* of a block; more than any has */
#define GV_REGISTERS           65536
#define GV_REGISTER_UNIT       256
#define GV_REGISTER_WARPS      4 /* get registers together */
#define GV_SHARED_UNIT         128
#define GV_SHARED_OLD_UNIT     256
#define GV_SHARED_SYSTEM_BYTES 1024 /* of each block, from 8.0 on */
#define GV_SHARED_SYSTEM_SINCE 80

struct gv_multiprocessor {
    int64_t capability, warps, blocks, shared_bytes;
};

static const struct gv_multiprocessor multiprocessors[] = {
#define GV_OCCUPANCY(capability, warps, blocks, shared_bytes)                                      \
    {capability, warps, blocks, shared_bytes},
#include "report/analyse/facts/occupancy.def"
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int64_t least(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static int64_t blocks_by_shared(const struct gv_multiprocessor *has, int64_t bytes)
{
    bool modern = has->capability >= GV_SHARED_SYSTEM_SINCE;

    if (modern)
        bytes += GV_SHARED_SYSTEM_BYTES;
    bytes = round_up(bytes, modern || has->capability >= 70 ? GV_SHARED_UNIT : GV_SHARED_OLD_UNIT);
    return bytes > 0 ? has->shared_bytes / bytes : has->blocks;
}

double gv_occupancy(const struct gv_occupancy_use *use)
{
    const struct gv_multiprocessor *has = NULL;
    int64_t warps, blocks;

    if (use->threads <= 0 || use->threads > GV_THREADS_MOST)
        return -1;
    warps = (use->threads + GV_WARP_THREADS - 1) / GV_WARP_THREADS;

    for (size_t i = 0; i < sizeof(multiprocessors) / sizeof(multiprocessors[0]); i++)
        if (multiprocessors[i].capability == use->capability)
            has = &multiprocessors[i];
    if (!has || warps > has->warps || use->registers <= 0 || use->registers > 255 ||
        use->shared_bytes < 0 || use->shared_bytes > has->shared_bytes)
        return -1;
    blocks = least(has->blocks, has->warps / warps);
    int64_t of_warp = round_up(use->registers * GV_WARP_THREADS, GV_REGISTER_UNIT);
    int64_t held = GV_REGISTERS / of_warp / GV_REGISTER_WARPS * GV_REGISTER_WARPS;
    blocks = least(blocks, held / warps);
    blocks = least(blocks, blocks_by_shared(has, use->shared_bytes));
    return (double)(blocks * warps) / (double)has->warps;
}
