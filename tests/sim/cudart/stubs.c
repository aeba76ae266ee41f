/* Unwritten functions: they fail with a message, once for each call. */
#include "tests/sim/cudart/cudart.h"

#include <stdatomic.h>
#include <stdio.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define GV_API_NO_DRIVER
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    __attribute__((weak)) type gv_rt_##symbol parameters                                           \
    {                                                                                              \
        static _Atomic int told;                                                                   \
        if (!atomic_exchange(&told, 1))                                                            \
            fputs("gpuverify simulator: " #symbol " is not simulated\n", stderr);                  \
        return cudaErrorNotSupported;                                                              \
    }
#include "trace/calls.inc"
