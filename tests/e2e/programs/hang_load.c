/* Waits for another stream while a kernel runs in the first one; then a load waits for that. */
#include "e2e.h"

int main(void)
{
    struct e2e_gpu gpu;
    CUstream busy, other;
    CUmodule module;

    e2e_open(&gpu);
    OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchKernel(gpu.tick, 1, 1, 1, 1, 1, 1, 0, other, NULL, NULL));
    e2e_spin(&gpu, busy, 60000000000ull);
    OK(cuStreamSynchronize(other));
    OK(cuModuleLoadData(&module, e2e_ptx));
    return 0;
}
