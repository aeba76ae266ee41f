/*
 * Costs of ranges: bench_ranges TEXT_BYTES TEXTS
 *
 * Pushes and pops in 200 bursts of 1000 pairs, with so many different texts, and a pause between
 * them in which a collector keeps up. Prints the median of a pair.
 */
#include "nvtx/gpuverify.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BURSTS   200
#define PAIRS    1000
#define TEXTS    20000
#define MOST     256
#define PAUSE_NS 500000

static char texts[TEXTS][MOST + 1];

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int bytes = argc > 2 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 0;
    double burst_ns[BURSTS];

    if (bytes < 8 || bytes > MOST || count < 1 || count > TEXTS || cuInit(0) != CUDA_SUCCESS)
        return 2;
    for (int i = 0; i < count; i++)
        snprintf(texts[i], sizeof texts[i], "%0*d", bytes, i);
    for (int burst = 0; burst < BURSTS; burst++) {
        double begun_ns = now_ns();

        for (int i = 0; i < PAIRS; i++) {
            gv_range_push(texts[(burst * PAIRS + i) % count]);
            gv_range_pop();
        }
        burst_ns[burst] = (now_ns() - begun_ns) / PAIRS;
        nanosleep(&pause, NULL);
    }
    qsort(burst_ns, BURSTS, sizeof burst_ns[0], compare);
    printf("%.1f\n", burst_ns[BURSTS / 2]);
    return 0;
}
