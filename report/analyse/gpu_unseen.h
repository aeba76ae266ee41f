/*
 * From when on the GPU side of a process is unknown. CUPTI returns operations some time after they
 * end, a whole buffer at once. So the last ones are missing if the program was killed, or still
 * runs.
 */
#ifndef GV_ANALYSE_GPU_UNSEEN_H
#define GV_ANALYSE_GPU_UNSEEN_H

#include <sqlite3.h>
#include <stdint.h>

struct gv_gpu_unseen {
    int64_t process;     /* id in processes */
    int64_t launched_ns; /* when the first missing operation was queued */
    int64_t known_ns;    /* the earliest possible start of a missing operation */
};

typedef void gv_gpu_unseen_take(void *context, const struct gv_gpu_unseen *unseen);

/* Lists each process with missing operations, also those that still run. 0 or -errno. */
int gv_gpu_unseen_each(sqlite3 *trace, gv_gpu_unseen_take *take, void *context);

#endif
