/*
 * Shared by the end-to-end test programs: they stop at the first unexpected result, and print
 * nothing that varies.
 */
#ifndef GV_E2E_PROGRAM_H
#define GV_E2E_PROGRAM_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(expected, call)                                                                     \
    do {                                                                                           \
        int expect_got = (int)(call);                                                              \
        if (expect_got != (int)(expected)) {                                                       \
            fprintf(stderr, "%s:%d: %s returned %d, not %d\n", __FILE__, __LINE__, #call,          \
                    expect_got, (int)(expected));                                                  \
            exit(90);                                                                              \
        }                                                                                          \
    } while (0)

#define OK(call) EXPECT(0, call)

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s is not true\n", __FILE__, __LINE__, #condition);            \
            exit(91);                                                                              \
        }                                                                                          \
    } while (0)

/* What a program does: its first argument. */
struct e2e_way {
    const char *name;
    void (*run)(void);
};

/* The exit status of the program. The last way has no name. */
static inline int e2e_run(const struct e2e_way *ways, const char *name)
{
    for (; ways->name; ways++) {
        if (strcmp(name, ways->name) != 0)
            continue;
        ways->run();
        return 0;
    }
    fprintf(stderr, "no such way: %s\n", name);
    return 2;
}

/* `tick` does nothing; `spin` runs for its argument, in nanoseconds. */
static const char e2e_ptx[] = ".version 7.0\n"
                              ".target sm_70\n"
                              ".address_size 64\n"
                              ".visible .entry tick()\n"
                              "{\n"
                              "ret;\n"
                              "}\n"
                              ".visible .entry spin(.param .u64 spin_param_0)\n"
                              "{\n"
                              "ret;\n"
                              "}\n";

/* The device, a current context, and a module with the two kernels. */
struct e2e_gpu {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction tick;
    CUfunction spin;
};

static inline void e2e_open(struct e2e_gpu *gpu)
{
    OK(cuInit(0));
    OK(cuDeviceGet(&gpu->device, 0));
    OK(cuDevicePrimaryCtxRetain(&gpu->context, gpu->device));
    OK(cuCtxSetCurrent(gpu->context));
    OK(cuModuleLoadData(&gpu->module, e2e_ptx));
    OK(cuModuleGetFunction(&gpu->tick, gpu->module, "tick"));
    OK(cuModuleGetFunction(&gpu->spin, gpu->module, "spin"));
}

static inline void e2e_tick(const struct e2e_gpu *gpu, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        OK(cuLaunchKernel(gpu->tick, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

/* Invalid memory. */
static inline void e2e_fail(void)
{
    CUdeviceptr memory;

    REQUIRE(cuMemAlloc(&memory, (size_t)1 << 50) != CUDA_SUCCESS);
}

static inline void e2e_spin(const struct e2e_gpu *gpu, CUstream stream, unsigned long long ns)
{
    void *arguments[] = {&ns};

    OK(cuLaunchKernel(gpu->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

#endif
