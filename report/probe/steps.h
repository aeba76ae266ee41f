/*
 * The steps before, as and after a call that the probe measures, named in report/probe/calls.def.
 * Each returns 0 or CUDA's error.
 */
#ifndef GV_PROBE_STEPS_H
#define GV_PROBE_STEPS_H

#include "report/probe/stage.h"

#define GV_PROBE_BESIDE(name, text, prepare, act, clean)                                           \
    int gv_probe_##prepare(struct gv_probe_stage *stage);                                          \
    int gv_probe_##act(struct gv_probe_stage *stage);                                              \
    int gv_probe_##clean(struct gv_probe_stage *stage);
#define GV_PROBE_CALL(beside, cause, call, what, prepare, act, clean)                              \
    int gv_probe_##prepare(struct gv_probe_stage *stage);                                          \
    int gv_probe_##act(struct gv_probe_stage *stage);                                              \
    int gv_probe_##clean(struct gv_probe_stage *stage);
#include "report/probe/calls.def"

#endif
