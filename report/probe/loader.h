/* A second thread of the probe, which loads code while the GPU is busy. */
#ifndef GV_PROBE_LOADER_H
#define GV_PROBE_LOADER_H

#include "report/probe/stage.h"

#include <pthread.h>
#include <stdatomic.h>

struct gv_probe_loader {
    struct gv_probe_stage *stage;
    pthread_t thread;
    _Atomic int64_t entered_ns; /* 0: not yet */
    _Atomic int64_t left_ns;
    int error;
};

/* Returns when the thread is about to be inside cuModuleLoadData for some milliseconds. */
int gv_probe_loader_start(struct gv_probe_loader *loader, struct gv_probe_stage *stage);

/* Waits for the load, and undoes it. Returns what it said. */
int gv_probe_loader_join(struct gv_probe_loader *loader);

int64_t gv_probe_clock_ns(void);

#endif
