/* The wrappers of the driver's calls, made from the table. */
#include "preload/bind/cuda_headers.h"

#include "preload/bind/entry_points.h"
#include "preload/bind/lookup_hooks.h"
#include "preload/hooks/hook_macros.h"

#define GV_HOOK(symbol) hook_##symbol
#define GV_REAL(symbol) gv_real_driver[GV_ID_##symbol]

#define GV_API_NO_RUNTIME

/* The header must declare every row just so. */
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    extern type CUDAAPI symbol parameters;
#include "trace/calls.def"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    GV_DEFINE_HOOK(symbol, kind, type, parameters, arguments, facts)
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)
#include "trace/calls.def"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    [GV_ID_##symbol] = (void *)hook_##symbol,
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)                               \
    [GV_ID_##symbol] = (void *)gv_hook_##symbol,
void *const gv_hooks_driver[GV_DRIVER_COUNT] = {
#include "trace/calls.def"
};
