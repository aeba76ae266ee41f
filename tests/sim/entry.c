/* The exports: one generated function each, which calls gv_sim_<symbol>. */
#include "tests/sim/sim.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Known at compile time: whether the name ends in _ptsz or _ptds. */
#define PER_THREAD(name)                                                                           \
    (sizeof(name) > 5 &&                                                                           \
     (!__builtin_strcmp(&(name)[sizeof(name) - 6 + (sizeof(name) < 6)], "_ptsz") ||                \
      !__builtin_strcmp(&(name)[sizeof(name) - 6 + (sizeof(name) < 6)], "_ptds")))

_Thread_local int gv_sim_per_thread_default __attribute__((tls_model("initial-exec")));

#define EXPORT_CALL(symbol, type, parameters, arguments)                                           \
    EXPORT type symbol parameters                                                                  \
    {                                                                                              \
        CUresult gv_result;                                                                        \
        unsigned gv_gate = atomic_load_explicit(&gv_sim_gate, memory_order_relaxed);               \
        if (GV_SIM_UNLIKELY(gv_gate) && !gv_sim_enter(GV_SIM_SYMBOL_##symbol, &gv_result))         \
            return gv_result;                                                                      \
        if (PER_THREAD(#symbol))                                                                   \
            gv_sim_per_thread_default = 1;                                                         \
        gv_result = gv_sim_##symbol arguments;                                                     \
        if (PER_THREAD(#symbol))                                                                   \
            gv_sim_per_thread_default = 0;                                                         \
        if (GV_SIM_UNLIKELY(gv_gate))                                                              \
            gv_sim_leave(GV_SIM_SYMBOL_##symbol, gv_result);                                       \
        return gv_result;                                                                          \
    }

#define GV_API_NO_RUNTIME
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    EXPORT_CALL(symbol, type, parameters, arguments)
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    EXPORT_CALL(symbol, type, parameters, arguments)
#include "tests/sim/other_exports.def"
