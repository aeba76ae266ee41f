#include "preload/bind/lookup_hooks.h"

#include "preload/bind/entry_points.h"

#include <stdint.h>

/* Success with a NULL is the driver's answer to a name that is newer than the version asked for. */
static CUresult swap(CUresult result, void **function, const void *caller)
{
    if (result == CUDA_SUCCESS && function && *function &&
        !gv_entry_points_is_tool((uintptr_t)caller))
        *function = gv_entry_points_swap_driver(*function);
    return result;
}

CUresult gv_hook_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult (*real)(const char *, void **, int, cuuint64_t) =
        (CUresult(*)(const char *, void **, int, cuuint64_t))gv_real_driver[GV_ID_cuGetProcAddress];

    return swap(real(symbol, pfn, cudaVersion, flags), pfn, __builtin_return_address(0));
}

CUresult gv_hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                     cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult (*real)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
        (CUresult(*)(const char *, void **, int, cuuint64_t,
                     CUdriverProcAddressQueryResult *))gv_real_driver[GV_ID_cuGetProcAddress_v2];

    return swap(real(symbol, pfn, cudaVersion, flags, symbolStatus), pfn,
                __builtin_return_address(0));
}
