/*
 * What a call starts on the GPU, by the row of its name in table api: one place for all that count
 * calls against operations.
 */
#ifndef GV_ANALYSE_GPU_WORK_H
#define GV_ANALYSE_GPU_WORK_H

enum gv_gpu_work {
    GV_GPU_WORK_NONE = 0, /* nothing, or not as an operation: a function on the host, a prefetch */
    GV_GPU_WORK_KERNEL = 1,
    GV_GPU_WORK_GRAPH = 2,
    GV_GPU_WORK_MOVE = 3, /* a copy or a set; some copies leave no operation */
    GV_GPU_WORKS
};

/* In SQL, of the columns name and class of table api. */
#define GV_GPU_WORK_SQL                                                                            \
    "CASE WHEN name LIKE 'cu%LaunchHostFunc%' OR name LIKE 'cu%MemPrefetch%' THEN 0 WHEN name"     \
    " LIKE 'cu%GraphLaunch%' THEN 2 WHEN class = 'launch' THEN 1 WHEN class IN ('copy', 'set')"    \
    " THEN 3 ELSE 0 END"

#endif
