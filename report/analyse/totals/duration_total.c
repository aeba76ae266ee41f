#include "report/analyse/totals/duration_total.h"

#include "report/analyse/time_sum.h"

#include <errno.h>
#include <stdlib.h>

/* Lengths that an octave tells apart; the first one begins at 0 and has twice as many. */
#define GV_DURATION_STEPS 512u
#define GV_DURATION_FIRST (2 * GV_DURATION_STEPS)
#define GV_DURATION_BLOCK 64u

static unsigned int gv_duration_octave(uint64_t duration_ns)
{
    return duration_ns < GV_DURATION_FIRST ? 0
                                           : 63u - (unsigned int)__builtin_clzll(duration_ns) - 9u;
}

static unsigned int gv_duration_steps(unsigned int octave)
{
    return octave == 0 ? GV_DURATION_FIRST : GV_DURATION_STEPS;
}

static unsigned int gv_duration_blocks(unsigned int octave)
{
    return gv_duration_steps(octave) / GV_DURATION_BLOCK;
}

int gv_duration_total_add(struct gv_duration_total *total, int64_t duration_ns, int64_t count)
{
    uint64_t length = duration_ns < 0 ? 0 : (uint64_t)duration_ns;
    unsigned int octave = gv_duration_octave(length);
    uint64_t step = octave == 0 ? length : (length >> octave) - GV_DURATION_STEPS;
    uint64_t ***blocks = &total->octaves[octave];
    int64_t all_ns;

    if (!*blocks)
        *blocks = calloc(gv_duration_blocks(octave), sizeof(**blocks));
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

/* The middle of a step, which may lie beyond what was seen. */
static int64_t gv_duration_middle(const struct gv_duration_total *total, unsigned int octave,
                                  unsigned int step)
{
    int64_t middle_ns = step;

    if (octave > 0)
        middle_ns = (int64_t)((((uint64_t)step + GV_DURATION_STEPS) << octave) +
                              (UINT64_C(1) << (octave - 1)));
    if (middle_ns < total->min_ns)
        return total->min_ns;
    return middle_ns > total->max_ns ? total->max_ns : middle_ns;
}

int64_t gv_duration_total_median_ns(const struct gv_duration_total *total)
{
    int64_t before = 0, rank = total->count / 2 + total->count % 2;

    for (unsigned int octave = 0; octave < GV_DURATION_OCTAVES; octave++) {
        uint64_t *const *blocks = total->octaves[octave];
        for (unsigned int step = 0; blocks && step < gv_duration_steps(octave); step++) {
            const uint64_t *counts = blocks[step / GV_DURATION_BLOCK];
            uint64_t count = counts ? counts[step % GV_DURATION_BLOCK] : 0;
            before += (int64_t)count;
            if (before >= rank && count > 0)
                return gv_duration_middle(total, octave, step);
        }
    }
    return 0;
}

void gv_duration_total_free(struct gv_duration_total *total)
{
    for (unsigned int octave = 0; octave < GV_DURATION_OCTAVES; octave++) {
        for (unsigned int i = 0; total->octaves[octave] && i < gv_duration_blocks(octave); i++)
            free(total->octaves[octave][i]);
        free(total->octaves[octave]);
        total->octaves[octave] = NULL;
    }
}
