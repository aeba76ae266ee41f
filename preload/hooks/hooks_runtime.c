/*
 * The hooks of runtime calls, made from the table. Compiled once for each libcudart that a process
 * can have, with GV_INSTANCE as its number: the hook itself says which library a call is for.
 */
#include "preload/bind/cuda_headers.h"

#include "preload/bind/entry_points.h"
#include "preload/hooks/hook_macros.h"
#include "preload/hooks/names.h"

#define GV_PASTE_(a, b)  a##b
#define GV_PASTE(a, b)   GV_PASTE_(a, b)
#define GV_HOOK(symbol)  GV_PASTE(GV_PASTE(gv_hook, GV_INSTANCE), _##symbol)
#define GV_GATE(symbol)  GV_PASTE(GV_PASTE(gv_gate, GV_INSTANCE), _##symbol)
#define GV_REAL(symbol)  gv_real_runtime[GV_INSTANCE][GV_ID_##symbol - GV_DRIVER_COUNT]
#define GV_HOOKS_OF_THIS GV_PASTE(gv_hooks_runtime, GV_INSTANCE)

#define GV_API_NO_DRIVER

/* Without rows that no header of CUDA 13 declares, or that have several shapes. */
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    extern type CUDARTAPI symbol parameters;
#define GV_API_WIDE(symbol, kind, type, parameters, arguments, facts)
#include "trace/calls.inc"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    GV_DEFINE_HOOK(symbol, kind, type, parameters, arguments, facts)
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)
#include "trace/calls.inc"

/*
 * Compiled CUDA code tells its shared libcudart before main() which host function stands for which
 * kernel. It is stored for the names of launches. Nothing is recorded, and it costs no more than a
 * table entry, because importing PyTorch registers tens of thousands.
 */

typedef void register_function(void **, const char *, char *, const char *, int, uint3 *, uint3 *,
                               dim3 *, dim3 *, int *);

static void **hook___cudaRegisterFatBinary(void *fatCubin)
{
    return ((void **(*)(void *))GV_REAL(__cudaRegisterFatBinary))(fatCubin);
}

static void hook___cudaUnregisterFatBinary(void **fatCubinHandle)
{
    /* The registering library is being unmapped, and its names with it. */
    gv_names_void_owner((uintptr_t)fatCubinHandle);
    ((void (*)(void **))GV_REAL(__cudaUnregisterFatBinary))(fatCubinHandle);
}

static void hook___cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                        const char *deviceName, int thread_limit, uint3 *tid,
                                        uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize)
{
    if (deviceName)
        gv_names_register((uintptr_t)hostFun, (uintptr_t)fatCubinHandle, deviceName);
    ((register_function *)GV_REAL(__cudaRegisterFunction))(
        fatCubinHandle, hostFun, deviceFun, deviceName, thread_limit, tid, bid, bDim, gDim, wSize);
}

/* The kernel's handle for a <<<>>>, looked up once for each launch site. */
static cudaError_t hook___cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    cudaError_t result = ((cudaError_t(*)(cudaKernel_t *, const void *))GV_REAL(__cudaGetKernel))(
        kernelPtr, entryFuncAddr);

    if (result == cudaSuccess && kernelPtr)
        gv_names_alias((uintptr_t)*kernelPtr, (uintptr_t)entryFuncAddr);
    return result;
}

#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_DECLARE_ENTRY(symbol)
#include "trace/calls.inc"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    [GV_ID_##symbol - GV_DRIVER_COUNT] = GV_ENTRY(symbol, kind),
#define GV_API_OWN(symbol, kind, type, parameters, arguments, facts)                               \
    [GV_ID_##symbol - GV_DRIVER_COUNT] = (void *)hook_##symbol,
void *const GV_HOOKS_OF_THIS[GV_RUNTIME_COUNT] = {
#include "trace/calls.inc"
};
