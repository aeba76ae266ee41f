/* The hooks of driver calls, made from the table. */
#include "preload/bind/cuda_headers.h"

#include "preload/bind/entry_points.h"
#include "preload/hooks/hook_macros.h"

#define GV_HOOK(symbol) gv_hook_##symbol
#define GV_GATE(symbol) gv_gate_##symbol
#define GV_REAL(symbol) gv_real_driver[GV_ID_##symbol]

#define GV_API_NO_RUNTIME

/* The header must declare every row with the same types. */
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    extern type CUDAAPI symbol parameters;
#include "trace/calls.inc"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    GV_DEFINE_HOOK(symbol, kind, type, parameters, arguments, facts)
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)
#include "trace/calls.inc"

/* The driver's look-ups: the driver answers, and the address is swapped for our hook. */

/* The driver answers success and NULL for a name newer than the requested version. */
static CUresult swap(CUresult result, void **function, const void *caller)
{
    if (result == CUDA_SUCCESS && function && *function &&
        !gv_entry_points_is_tool((uintptr_t)caller))
        *function = gv_entry_points_swap_driver(*function);
    return result;
}

static CUresult hook_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                      cuuint64_t flags)
{
    CUresult (*real)(const char *, void **, int, cuuint64_t) =
        (CUresult(*)(const char *, void **, int, cuuint64_t))gv_real_driver[GV_ID_cuGetProcAddress];

    return swap(real(symbol, pfn, cudaVersion, flags), pfn, __builtin_return_address(0));
}

static CUresult hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                         cuuint64_t flags,
                                         CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult (*real)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
        (CUresult(*)(const char *, void **, int, cuuint64_t,
                     CUdriverProcAddressQueryResult *))gv_real_driver[GV_ID_cuGetProcAddress_v2];

    return swap(real(symbol, pfn, cudaVersion, flags, symbolStatus), pfn,
                __builtin_return_address(0));
}

#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_DECLARE_ENTRY(symbol)
#include "trace/calls.inc"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    [GV_ID_##symbol] = GV_ENTRY(symbol, kind),
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)                               \
    [GV_ID_##symbol] = (void *)hook_##symbol,
void *const gv_hooks_driver[GV_DRIVER_COUNT] = {
#include "trace/calls.inc"
};
