/*
 * Shared by the C programs whose GPU is idle for one reason: rounds of some time each, with a
 * little work for the GPU between them. A comment that starts with "idle:" marks the line that a
 * trace must name.
 */
#ifndef GV_KERNELS_IDLE_ROUNDS_H
#define GV_KERNELS_IDLE_ROUNDS_H

#include "kernels/stalls/stage.h"

#define GV_ROUNDS   10
#define GV_ROUND_MS 60u

static inline bool gv_rounds_has(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

/* As the Python programs print it: the time that the main thread was ready without a CPU. */
static inline double gv_rounds_descheduled_ms(void)
{
    FILE *file = fopen("/proc/self/schedstat", "r");
    unsigned long long ran = 0, waited = 0;

    if (file) {
        if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
            waited = 0;
        fclose(file);
    }
    return (double)waited / 1e6;
}

static inline void gv_rounds_work(struct gv_stage *stage)
{
    gv_stage_spin(stage->spin, stage->stream, 2);
    CHECK(cuStreamSynchronize(stage->stream));
}

/* Starts CUDA and gives the GPU its first work. Returns whether the program has that argument. */
static inline bool gv_rounds_open(struct gv_stage *stage, int argc, char **argv, const char *word)
{
    gv_stage_open(stage, 1, argv);
    gv_rounds_work(stage);
    return gv_rounds_has(argc, argv, word);
}

static inline int gv_rounds_close(struct gv_stage *stage)
{
    printf("descheduled %.3f ms\n", gv_rounds_descheduled_ms());
    return gv_stage_close(stage);
}

#endif
