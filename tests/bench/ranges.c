/*
 * Costs of ranges: bench_ranges own|nvtx|library|mark TEXT_BYTES TEXTS
 *
 * Pushes and pops with gpuverify.h or NVTX, or in the domain of a library, or marks with NVTX: 200
 * bursts of 1000, with so many different texts, and a pause between them in which a collector keeps
 * up. Prints the median of a pair, or of a mark.
 */
#include "nvtx/gpuverify.h"

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BURSTS   200
#define CALLS    1000
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

static void own(const char *text)
{
    gv_range_push(text);
    gv_range_pop();
}

static void nvtx(const char *text)
{
    nvtxRangePushA(text);
    nvtxRangePop();
}

/* One of those that name each operation (trace/library_domains.def). */
static void library(const char *text)
{
    static nvtxDomainHandle_t domain;
    nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                   .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                   .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                   .message.ascii = text};

    if (!domain)
        domain = nvtxDomainCreateA("libcudf");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int bytes = argc > 3 ? atoi(argv[2]) : 0, count = argc > 3 ? atoi(argv[3]) : 0;
    void (*say)(const char *text) = argc < 2                          ? own
                                    : strcmp(argv[1], "nvtx") == 0    ? nvtx
                                    : strcmp(argv[1], "library") == 0 ? library
                                    : strcmp(argv[1], "mark") == 0    ? nvtxMarkA
                                                                      : own;
    double burst_ns[BURSTS];

    if (bytes < 8 || bytes > MOST || count < 1 || count > TEXTS || cuInit(0) != CUDA_SUCCESS)
        return 2;
    for (int i = 0; i < count; i++)
        snprintf(texts[i], sizeof texts[i], "%0*d", bytes, i);
    for (int burst = 0; burst < BURSTS; burst++) {
        double begun_ns = now_ns();

        for (int i = 0; i < CALLS; i++)
            say(texts[(burst * CALLS + i) % count]);
        burst_ns[burst] = (now_ns() - begun_ns) / CALLS;
        nanosleep(&pause, NULL);
    }
    qsort(burst_ns, BURSTS, sizeof burst_ns[0], compare);
    printf("%.1f\n", burst_ns[BURSTS / 2]);
    return 0;
}
