/*
 * The weak gv_sim_<symbol> of an export that is not simulated: fails with a message. A per-thread
 * variant is the plain call with another name; the export has noted which one it was.
 */
#include "tests/sim/sim.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GV_API_NO_RUNTIME
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    __attribute__((weak)) type gv_sim_##symbol parameters                                          \
    {                                                                                              \
        return gv_sim_not_simulated(#symbol);                                                      \
    }
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    __attribute__((weak)) type gv_sim_##symbol parameters                                          \
    {                                                                                              \
        return gv_sim_not_simulated(#symbol);                                                      \
    }
#include "tests/sim/other_exports.def"
