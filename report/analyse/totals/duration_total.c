#include "report/analyse/totals/duration_total.h"

#include "report/store/time_sum.h"
#include "report/store/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Buckets per octave; the first octave starts at 0 and has twice as many. */
#define GV_DURATION_STEPS 512u
#define GV_DURATION_FIRST (2 * GV_DURATION_STEPS)
#define GV_DURATION_BLOCK 64u

static unsigned int duration_octave(uint64_t duration_ns)
{
    return duration_ns < GV_DURATION_FIRST ? 0
                                           : 63u - (unsigned int)__builtin_clzll(duration_ns) - 9u;
}

static unsigned int duration_steps(unsigned int octave)
{
    return octave == 0 ? GV_DURATION_FIRST : GV_DURATION_STEPS;
}

static unsigned int duration_blocks(unsigned int octave)
{
    return duration_steps(octave) / GV_DURATION_BLOCK;
}

int gv_duration_total_add(struct gv_duration_total *total, int64_t duration_ns, int64_t count)
{
    uint64_t length = duration_ns < 0 ? 0 : (uint64_t)duration_ns;
    unsigned int octave = duration_octave(length);
    uint64_t step = octave == 0 ? length : (length >> octave) - GV_DURATION_STEPS;
    uint64_t ***blocks = &total->octaves[octave];
    int64_t all_ns;

    if (!*blocks)
        *blocks = calloc(duration_blocks(octave), sizeof(**blocks));
    if (!*blocks)
        return -ENOMEM;
    uint64_t **counts = &(*blocks)[step / GV_DURATION_BLOCK];
    if (!*counts)
        *counts = calloc(GV_DURATION_BLOCK, sizeof(**counts));
    if (!*counts)
        return -ENOMEM;
    (*counts)[step % GV_DURATION_BLOCK] += (uint64_t)count;
    if (total->count == 0 || (int64_t)length < total->min_ns)
        total->min_ns = (int64_t)length;
    if ((int64_t)length > total->max_ns)
        total->max_ns = (int64_t)length;
    if (__builtin_mul_overflow((int64_t)length, count, &all_ns))
        all_ns = INT64_MAX;
    total->total_ns = gv_time_sum(total->total_ns, all_ns);
    total->count = gv_time_sum(total->count, count);
    return 0;
}

/* The range [*from_ns, *to_ns] of the median, and its rank in there. False: no durations. */
static bool duration_find(const struct gv_duration_total *total, int64_t *from_ns, int64_t *to_ns,
                          int64_t *rank)
{
    *rank = total->count / 2 + total->count % 2;
    for (unsigned int octave = 0; octave < GV_DURATION_OCTAVES; octave++) {
        uint64_t *const *blocks = total->octaves[octave];
        for (unsigned int step = 0; blocks && step < duration_steps(octave); step++) {
            const uint64_t *counts = blocks[step / GV_DURATION_BLOCK];
            int64_t count = counts ? (int64_t)counts[step % GV_DURATION_BLOCK] : 0;
            if (count > 0 && count >= *rank) {
                *from_ns =
                    octave ? (int64_t)(((uint64_t)step + GV_DURATION_STEPS) << octave) : step;
                *to_ns = *from_ns + (INT64_C(1) << octave) - 1;
                return true;
            }
            *rank -= count;
        }
    }
    return false;
}

int64_t gv_duration_total_median_ns(const struct gv_duration_total *total)
{
    int64_t from_ns, to_ns, rank = total->near_rank;

    for (size_t i = 0; i < total->near_count; i++) {
        rank -= total->near[i].count;
        if (rank <= 0)
            return total->near[i].duration_ns;
    }
    if (!duration_find(total, &from_ns, &to_ns, &rank))
        return 0;
    /* The middle, which may be outside of the observed values. */
    from_ns += (to_ns - from_ns + 1) / 2;
    if (from_ns < total->min_ns)
        return total->min_ns;
    return from_ns > total->max_ns ? total->max_ns : from_ns;
}

void gv_duration_total_reread(struct gv_duration_total *total)
{
    if (!duration_find(total, &total->near_from_ns, &total->near_to_ns, &total->near_rank) ||
        total->near_from_ns == total->near_to_ns)
        total->near_to_ns = -1;
}

int gv_duration_total_again(struct gv_duration_total *total, int64_t duration_ns, int64_t count)
{
    size_t low = 0, high = total->near_count;

    if (duration_ns < 0)
        duration_ns = 0;
    if (duration_ns < total->near_from_ns || duration_ns > total->near_to_ns)
        return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (total->near[middle].duration_ns < duration_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < total->near_count && total->near[low].duration_ns == duration_ns) {
        total->near[low].count = gv_time_sum(total->near[low].count, count);
        return 0;
    }
    int error =
        gv_array_room(&total->near, total->near_count, &total->near_room, sizeof(*total->near));
    if (error)
        return error;
    memmove(&total->near[low + 1], &total->near[low],
            (total->near_count - low) * sizeof(*total->near));
    total->near[low] = (struct gv_duration_count){duration_ns, count};
    total->near_count++;
    return 0;
}

void gv_duration_total_free(struct gv_duration_total *total)
{
    for (unsigned int octave = 0; octave < GV_DURATION_OCTAVES; octave++) {
        for (unsigned int i = 0; total->octaves[octave] && i < duration_blocks(octave); i++)
            free(total->octaves[octave][i]);
        free(total->octaves[octave]);
        total->octaves[octave] = NULL;
    }
    free(total->near);
    total->near = NULL;
}
