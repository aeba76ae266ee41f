/* Shared by the parts of soak; see soak.c. */
#ifndef GV_KERNELS_SOAK_H
#define GV_KERNELS_SOAK_H

#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

/* Used only by the linker: entry points under their exported names. */
#define SOAK_CALLS(ROW)                                                                            \
    ROW(cuInit)                                                                                    \
    ROW(cuDevicePrimaryCtxRetain)                                                                  \
    ROW(cuDevicePrimaryCtxRelease_v2)                                                              \
    ROW(cuCtxCreate_v2)                                                                            \
    ROW(cuCtxDestroy_v2)                                                                           \
    ROW(cuCtxSetCurrent)                                                                           \
    ROW(cuCtxPushCurrent_v2)                                                                       \
    ROW(cuCtxPopCurrent_v2)                                                                        \
    ROW(cuCtxGetLimit)                                                                             \
    ROW(cuCtxSynchronize)                                                                          \
    ROW(cuModuleLoadData)                                                                          \
    ROW(cuModuleGetFunction)                                                                       \
    ROW(cuModuleUnload)                                                                            \
    ROW(cuLibraryLoadData)                                                                         \
    ROW(cuLibraryGetKernel)                                                                        \
    ROW(cuKernelGetFunction)                                                                       \
    ROW(cuLibraryUnload)                                                                           \
    ROW(cuOccupancyMaxPotentialBlockSize)                                                          \
    ROW(cuLaunchKernel)                                                                            \
    ROW(cuLaunchHostFunc)                                                                          \
    ROW(cuMemAlloc_v2)                                                                             \
    ROW(cuMemFree_v2)                                                                              \
    ROW(cuMemAllocHost_v2)                                                                         \
    ROW(cuMemFreeHost)                                                                             \
    ROW(cuMemAllocAsync)                                                                           \
    ROW(cuMemFreeAsync)                                                                            \
    ROW(cuMemcpyHtoD_v2)                                                                           \
    ROW(cuMemcpyDtoH_v2)                                                                           \
    ROW(cuMemcpyHtoDAsync_v2)                                                                      \
    ROW(cuMemcpyDtoHAsync_v2)                                                                      \
    ROW(cuMemcpyDtoDAsync_v2)                                                                      \
    ROW(cuMemsetD32_v2)                                                                            \
    ROW(cuMemsetD8Async)                                                                           \
    ROW(cuStreamCreate)                                                                            \
    ROW(cuStreamDestroy_v2)                                                                        \
    ROW(cuStreamQuery)                                                                             \
    ROW(cuStreamSynchronize)                                                                       \
    ROW(cuStreamWaitEvent)                                                                         \
    ROW(cuStreamBeginCapture_v2)                                                                   \
    ROW(cuStreamEndCapture)                                                                        \
    ROW(cuEventCreate)                                                                             \
    ROW(cuEventRecord)                                                                             \
    ROW(cuEventQuery)                                                                              \
    ROW(cuEventSynchronize)                                                                        \
    ROW(cuEventElapsedTime)                                                                        \
    ROW(cuEventDestroy_v2)                                                                         \
    ROW(cuGraphInstantiateWithFlags)                                                               \
    ROW(cuGraphLaunch)                                                                             \
    ROW(cuGraphExecDestroy)                                                                        \
    ROW(cuGraphDestroy)

#include "kernels/random.h"
#include "kernels/soak/log.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOAK_SHARED    3 /* streams that all threads use */
#define SOAK_OWN       4 /* most streams and events of one thread */
#define SOAK_MODULES   3
#define SOAK_BYTES_MAX (64u << 10)
#define SOAK_SCRATCH   4096 /* of device memory that any kernel may write to at any time */

/* Numbers of kernels: these are of the first module; larger ones are called kernel_<number>. */
enum { SOAK_EMPTY, SOAK_SPIN, SOAK_FILL, SOAK_FIRST_MODULE };

struct soak_process {
    uint64_t seed;
    long steps;           /* of each thread */
    const char *features; /* see soak.c */
    const char *program;
    bool dies; /* see deaths.c */
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernels[SOAK_FIRST_MODULE];
    CUstream shared[SOAK_SHARED];
    CUevent always; /* two completed events */
    CUevent first;
};
extern struct soak_process soak;

struct soak_module {
    CUmodule module;   /* or */
    CUlibrary library; /* */
    CUfunction kernel; /* NULL: none */
    uint32_t number;
};

struct soak_thread {
    uint64_t random;
    uint64_t digest;          /* of everything that does not depend on time */
    unsigned forks, children; /* so far */
    CUstream home;            /* lives as long as the thread */
    CUstream streams[SOAK_OWN];
    CUevent events[SOAK_OWN];
    struct soak_module modules[SOAK_MODULES];
    CUdeviceptr device, scratch;
    unsigned char *pinned;
    unsigned char pageable[SOAK_BYTES_MAX];
};

/* What a handler that interrupts this may do. */
extern _Thread_local volatile bool soak_quiet;

static inline bool soak_has(char feature)
{
    for (const char *at = soak.features; *at; at++)
        if (*at == feature)
            return true;
    return false;
}

#define SOAK_FAST_CALLS 20000u /* of a thread */

/* A death may take seconds, and all that is called until then must be compared. */
static inline void soak_slow_down(void)
{
    if (soak.dies && soak_writer.log && soak_writer.log->count > SOAK_FAST_CALLS)
        usleep(20000);
}

static inline uint32_t soak_random(struct soak_thread *thread, uint32_t below)
{
    return gv_random_below(&thread->random, below);
}

static inline void soak_digest(struct soak_thread *thread, uint64_t value)
{
    thread->digest = (thread->digest ^ value) * 0x9e3779b97f4a7c15u;
    thread->digest ^= thread->digest >> 29;
}

/* A call whose result never changes. */
#define TOLD(thread, symbol, ...) soak_digest(thread, (uint64_t)(unsigned)DO(symbol, __VA_ARGS__))

static inline CUresult soak_launch(CUfunction function, uint32_t number, CUstream stream,
                                   void **parameters)
{
    soak_note(SOAK_RUNS | SOAK_KERNEL, number);
    return (CUresult)DO(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

static inline CUresult soak_spin(CUstream stream, uint64_t ns)
{
    void *parameters[] = {&ns};
    return soak_launch(soak.kernels[SOAK_SPIN], SOAK_SPIN, stream, parameters);
}

/* steps.c, steps_code.c, steps_process.c, interrupts.c: each function takes one step. */
typedef void soak_step(struct soak_thread *thread);
soak_step soak_step_launches, soak_step_copies, soak_step_sets, soak_step_events, soak_step_polls,
    soak_step_streams, soak_step_memory, soak_step_context, soak_step_host_function,
    soak_step_failures, soak_step_name;
soak_step soak_step_capture, soak_step_module, soak_step_nested, soak_step_second_context;
soak_step soak_step_fork, soak_step_child;
soak_step soak_step_jump, soak_step_throw;

CUstream soak_some_stream(struct soak_thread *thread);
void soak_drop_module(struct soak_thread *thread, struct soak_module *module);

/* Starts a timer whose signals make CUDA calls. Stop it on the same thread. */
void soak_interrupts_start(struct soak_thread *thread);
void soak_interrupts_stop(void);
/* Jumps out of a sleeping call. */
void soak_interrupts_prepare(void);

/* Ends the process when stdin has a letter, in a thread of its own. */
void soak_die_when_told(void);

/* throws.cpp: makes a call that an exception leaves; returns whether one came. */
bool soak_throw(CUfunction function);

#ifdef __cplusplus
}
#endif

#endif
