/* Which call of the CUDA runtime started CUDA: the first one that needs a context makes it,
 * whatever it is for. */
#ifndef GV_ANALYSE_STARTING_H
#define GV_ANALYSE_STARTING_H

#include "trace/call_table.h"

#include <stdbool.h>
#include <stdint.h>

/* A context took 75 to 900 ms on an H100 and an H200. */
#define GV_STARTING_NS 20000000

struct gv_starting {
    bool has_context; /* of a process: zeroed at first */
};

/* Takes the calls of a process in the order of their starts. cuInit and cudaGetDeviceCount do not
 * make a context; calls that only ask may come before it, as cudaStreamIsCapturing does in PyTorch.
 */
static inline bool gv_starting_is(struct gv_starting *process, enum gv_api_class class,
                                  bool is_runtime, int64_t duration_ns)
{
    if (process->has_context || class == GV_CLASS_INIT)
        return false;
    bool is_long = duration_ns >= GV_STARTING_NS;
    process->has_context = is_long || class == GV_CLASS_LAUNCH || class == GV_CLASS_COPY ||
                           class == GV_CLASS_SET || class == GV_CLASS_ALLOC;
    return is_long && is_runtime;
}

#endif
