/*
 * From when on the GPU's side of a process is not known. CUPTI hands operations over some time
 * after they ended, all of a buffer together: of a program that was killed, and of one that still
 * runs, the last ones are missing.
 */
#ifndef GV_ANALYSE_GPU_UNSEEN_H
#define GV_ANALYSE_GPU_UNSEEN_H

#include <sqlite3.h>
#include <stdint.h>

struct gv_gpu_unseen {
    int64_t process;     /* id in processes */
    int64_t launched_ns; /* when the first operation that is missing was put into its stream */
    int64_t known_ns;    /* the earliest that one of those missing can have begun */
};

typedef void gv_gpu_unseen_take(void *context, const struct gv_gpu_unseen *unseen);

/* Gives each process of which operations are missing, also those that still run. 0 or -errno. */
int gv_gpu_unseen_each(sqlite3 *trace, gv_gpu_unseen_take *take, void *context);

#endif
