/* The exports in the table: one function each, which calls gv_rt_<symbol>. */
#include "tests/sim/cudart/cudart.h"

#define PER_THREAD(name)                                                                           \
    (sizeof(name) > 5 &&                                                                           \
     (!__builtin_strcmp(&(name)[sizeof(name) - 6 + (sizeof(name) < 6)], "_ptsz") ||                \
      !__builtin_strcmp(&(name)[sizeof(name) - 6 + (sizeof(name) < 6)], "_ptds")))

_Thread_local int gv_rt_per_thread;

#define GV_API_NO_DRIVER
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)
/* Declared here too: some rows are in no header of CUDA 13. */
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    extern type symbol parameters;                                                                 \
    GV_RT_EXPORT type symbol parameters                                                            \
    {                                                                                              \
        if (PER_THREAD(#symbol))                                                                   \
            gv_rt_per_thread = 1;                                                                  \
        cudaError_t gv_error = gv_rt_##symbol arguments;                                           \
        if (PER_THREAD(#symbol))                                                                   \
            gv_rt_per_thread = 0;                                                                  \
        return gv_error ? gv_rt_failed(gv_error) : gv_error;                                       \
    }
/* Passes whole registers, whatever the header declares; so the name must not collide with the
 * header. */
#define GV_API_WIDE(symbol, kind, type, parameters, arguments, facts)                              \
    GV_RT_EXPORT type gv_wide_##symbol parameters __asm__(#symbol);                                \
    type gv_wide_##symbol parameters                                                               \
    {                                                                                              \
        if (PER_THREAD(#symbol))                                                                   \
            gv_rt_per_thread = 1;                                                                  \
        cudaError_t gv_error = gv_rt_##symbol arguments;                                           \
        if (PER_THREAD(#symbol))                                                                   \
            gv_rt_per_thread = 0;                                                                  \
        return gv_error ? gv_rt_failed(gv_error) : gv_error;                                       \
    }
#include "trace/calls.inc"
