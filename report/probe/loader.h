/* The probe's second thread, which loads code while the GPU is busy. */
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

/* Returns when the thread is about to spend some milliseconds inside cuModuleLoadData. */
int gv_probe_loader_start(struct gv_probe_loader *loader, struct gv_probe_stage *stage);

/* Waits for the load, unloads, and returns the load's result. */
int gv_probe_loader_join(struct gv_probe_loader *loader);

int64_t gv_probe_clock_ns(void);

#endif
