/*
 * Three steps, in ranges of gpuverify.h. "step N" is around the others:
 *
 *     forward      launches two kernels of 2 ms, and allocates until the end of the step
 *     backward     another thread, without ranges, launches three kernels of 1 ms
 *     load batch   leaves the GPU idle for 20 ms
 *     load code    in the second step: loads a module while a kernel of 20 ms runs
 */
#include "e2e.h"

#include "nvtx/gpuverify.h"

#include <pthread.h>
#include <unistd.h>

static struct e2e_gpu gpu;

static __attribute__((noinline)) CUdeviceptr forward(void)
{
    CUdeviceptr block;

    for (int i = 0; i < 2; i++)
        e2e_spin(&gpu, NULL, 2000000);
    OK(cuMemAlloc(&block, 1 << 20));
    return block;
}

static void *backward(void *unused)
{
    OK(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < 3; i++)
        e2e_spin(&gpu, NULL, 1000000);
    return unused;
}

static void load_code(void)
{
    CUmodule module;

    e2e_spin(&gpu, NULL, 20000000);
    OK(cuModuleLoadData(&module, e2e_ptx));
}

static void step(int number)
{
    char name[16];
    pthread_t worker;
    CUdeviceptr block;

    snprintf(name, sizeof(name), "step %d", number);
    gv_range_push(name);
    gv_range_push("forward");
    block = forward();
    gv_range_pop();
    gv_range_push("backward");
    REQUIRE(pthread_create(&worker, NULL, backward, NULL) == 0);
    REQUIRE(pthread_join(worker, NULL) == 0);
    gv_range_pop();
    if (number == 2) {
        gv_range_push("load code");
        load_code();
        gv_range_pop();
    }
    OK(cuCtxSynchronize());
    gv_range_push("load batch");
    usleep(20000);
    gv_range_pop();
    OK(cuMemFree(block));
    gv_range_pop();
}

int main(void)
{
    e2e_open(&gpu);
    gv_mark("ready");
    for (int i = 1; i <= 3; i++)
        step(i);
    return 0;
}
