/* What a profiler inside the program has asked of CUPTI. Any thread reads it. */
#ifndef GV_BIND_OTHER_PROFILERS_H
#define GV_BIND_OTHER_PROFILERS_H

#include "trace/gpu_module.h"

extern struct gv_gpu_other gv_other_profiler;

#endif
