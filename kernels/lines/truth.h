/*
 * Shared by the C programs that say which of their lines asked for the GPU's time. They print for
 * each line
 *
 *     line FILE:LINE captured LINE calls N ns N bytes N
 *
 * captured: of launches of a graph, where it was captured; otherwise 0. calls: that put work on the
 * GPU. ns: how long their kernels spin, together. bytes: what they copied or set. A line must be of
 * one thread.
 */
#ifndef GV_KERNELS_LINES_TRUTH_H
#define GV_KERNELS_LINES_TRUTH_H

#include "kernels/stalls/stage.h"

#include <inttypes.h>

#define GV_TRUTH_LINES  512
#define GV_TRUTH_GRAPHS 3 /* 0: no graph */

static struct gv_truth {
    uint64_t calls, ns, bytes;
} gv_truth[GV_TRUTH_LINES][GV_TRUTH_GRAPHS];
static unsigned gv_truth_captured[GV_TRUTH_GRAPHS];

#define GV_TRUTH_ADD(graph, spin_ns, some_bytes)                                                   \
    (gv_truth[__LINE__][graph].calls++, gv_truth[__LINE__][graph].ns += (spin_ns),                 \
     gv_truth[__LINE__][graph].bytes += (some_bytes))

/* The calls are made at the macros' lines. They must be written on one line. */
#define SPIN(kernel, to, us)                                                                       \
    do {                                                                                           \
        uint64_t spin_ns = (us) * (uint64_t)1000;                                                  \
        void *parameters[] = {&spin_ns};                                                           \
        GV_TRUTH_ADD(0, spin_ns, 0);                                                               \
        CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, to, parameters, NULL));                  \
    } while (0)
#define MOVE(some_bytes, call)                                                                     \
    do {                                                                                           \
        GV_TRUTH_ADD(0, 0, some_bytes);                                                            \
        CHECK(call);                                                                               \
    } while (0)
#define REPLAY(graph, spin_ns, executable, to)                                                     \
    do {                                                                                           \
        GV_TRUTH_ADD(graph, spin_ns, 0);                                                           \
        CHECK(cuGraphLaunch(executable, to));                                                      \
    } while (0)

static inline void gv_truth_print(const char *file)
{
    for (unsigned line = 0; line < GV_TRUTH_LINES; line++)
        for (unsigned graph = 0; graph < GV_TRUTH_GRAPHS; graph++) {
            const struct gv_truth *of = &gv_truth[line][graph];
            if (of->calls)
                printf("line %s:%u captured %u calls %" PRIu64 " ns %" PRIu64 " bytes %" PRIu64
                       "\n",
                       strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line,
                       gv_truth_captured[graph], of->calls, of->ns, of->bytes);
        }
}

#endif
