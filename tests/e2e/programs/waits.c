/*
 * Waits for a kernel COUNT times, in two functions by turns. In the middle it loads a module while
 * a kernel runs.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>

/* gcc would make a copy of a function for one caller, which clang does not. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry empty()\n{\n ret;\n}\n";
static CUstream stream;
static CUmodule module;

static void need(CUresult result)
{
    if (result != CUDA_SUCCESS)
        exit(91);
}

static NOINLINE void wait_evenly(void)
{
    need(cuStreamSynchronize(stream));
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static NOINLINE void wait_oddly(void)
{
    need(cuStreamSynchronize(stream));
    __asm__ volatile("# odd" ::: "memory"); /* not the same code */
}

static NOINLINE void stall(void)
{
    need(cuModuleLoadData(&module, ptx));
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    CUcontext context;
    CUfunction empty;
    CUdevice device;

    need(cuInit(0));
    need(cuDeviceGet(&device, 0));
    need(cuDevicePrimaryCtxRetain(&context, device));
    need(cuCtxSetCurrent(context));
    need(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    stall();
    need(cuModuleGetFunction(&empty, module, "empty"));
    for (int i = 0; i < count; i++) {
        need(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        if (i == count / 2)
            stall();
        else if (i % 2)
            wait_oddly();
        else
            wait_evenly();
    }
    printf("%d waits\n", count - 1);
    return 0;
}
