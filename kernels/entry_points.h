/*
 * The ways to reach the driver. A workload lists its calls in a table before it includes this file,
 * and then uses GV_CALL(cuMemAlloc_v2)(...) with the exported symbol:
 *
 *     #define GV_CALLS(ROW) ROW(cuInit, cuInit, 2000) ROW(cuMemAlloc_v2, cuMemAlloc, 3020) ...
 *
 * (symbol, then name and version for cuGetProcAddress). GV_REACH chooses the way at compile time:
 */
#ifndef GV_KERNELS_ENTRY_POINTS_H
#define GV_KERNELS_ENTRY_POINTS_H

#define GV_REACH_LINKED  1 /* linked with -lcuda */
#define GV_REACH_DLSYM   2 /* dlopen and dlsym */
#define GV_REACH_DLVSYM  3 /* dlopen and dlvsym */
#define GV_REACH_PROC    4 /* cuGetProcAddress, found by dlsym */
#define GV_REACH_PROC_V2 5 /* cuGetProcAddress_v2, found by dlsym */

#ifndef GV_REACH
#define GV_REACH GV_REACH_LINKED
#endif

#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#include <stdio.h>

#if GV_REACH == GV_REACH_LINKED

#define GV_CALL(symbol) symbol

static int gv_reach_driver(void)
{
    return 0;
}

#else

#include <dlfcn.h>

static struct {
#define ROW(symbol, name, version) __typeof__(symbol) *p_##symbol;
    GV_CALLS(ROW)
#undef ROW
} gv_reached;

#define GV_CALL(symbol) gv_reached.p_##symbol

static void *gv_reach(void *driver, const char *symbol, const char *name, int version)
{
    void *found = NULL;
    (void)symbol;
    (void)name;
    (void)version;
#if GV_REACH == GV_REACH_DLSYM
    found = dlsym(driver, symbol);
#elif GV_REACH == GV_REACH_DLVSYM
    /* The driver's symbols have no version, so dlvsym finds none and the program falls back. In
     * runtime_tour_dlvsym it succeeds. */
    found = dlvsym(driver, symbol, "libcuda.so.1");
    if (!found)
        found = dlsym(driver, symbol);
#elif GV_REACH == GV_REACH_PROC
    __typeof__(cuGetProcAddress) *ask = dlsym(driver, "cuGetProcAddress");
    if (!ask || ask(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT))
        found = NULL;
#elif GV_REACH == GV_REACH_PROC_V2
    __typeof__(cuGetProcAddress_v2) *ask = dlsym(driver, "cuGetProcAddress_v2");
    CUdriverProcAddressQueryResult status;
    if (!ask || ask(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &status))
        found = NULL;
#endif
    if (!found)
        fprintf(stderr, "no %s in this driver\n", symbol);
    return found;
}

static int gv_reach_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
#define ROW(symbol, name, version)                                                                 \
    if (!(gv_reached.p_##symbol =                                                                  \
              (__typeof__(symbol) *)gv_reach(driver, #symbol, #name, version)))                    \
        return -1;
    GV_CALLS(ROW)
#undef ROW
    return 0;
}

#endif
#endif
