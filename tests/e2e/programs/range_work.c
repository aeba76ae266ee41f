/*
 * Six steps in ranges, with known work: 3 ms of the GPU in "forward", 2 ms in "backward", which
 * another thread launches, as PyTorch's does, and 5 ms in "read", with nothing to do for the GPU.
 * In one of them, a load waits for the GPU's work.
 */
#include "e2e.h"

#include "nvtx/gpuverify.h"

#include <pthread.h>
#include <unistd.h>

#define STEPS 6
#define BYTES (4u << 20)

static struct e2e_gpu gpu;

static void *launch_backward(void *unused)
{
    OK(cuCtxSetCurrent(gpu.context));
    e2e_spin(&gpu, NULL, 2000000);
    return unused;
}

static void step(int number)
{
    CUmodule module;
    pthread_t thread;
    char name[32];

    snprintf(name, sizeof(name), "step %d", number);
    gv_range_push(name);
    gv_range_push("forward");
    e2e_spin(&gpu, NULL, 3000000);
    if (number == 3)
        OK(cuModuleLoadData(&module, e2e_ptx));
    gv_range_pop();
    gv_range_push("backward");
    REQUIRE(!pthread_create(&thread, NULL, launch_backward, NULL));
    pthread_join(thread, NULL);
    OK(cuCtxSynchronize());
    gv_range_pop();
    gv_range_push("read");
    usleep(5000);
    gv_range_pop();
    gv_range_pop();
    gv_mark("step done");
}

int main(void)
{
    CUdeviceptr memory;

    OK(cuInit(0));
    gv_range_push("setup");
    e2e_open(&gpu);
    OK(cuMemAlloc(&memory, BYTES));
    gv_range_pop();
    for (int i = 0; i < STEPS; i++)
        step(i);
    return 0;
}
