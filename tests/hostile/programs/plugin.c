/* A library that calls CUDA. It is built twice, with another name of its function each. */
#include <cuda.h>

__attribute__((visibility("default"))) void plugin(CUresult *result);

static __attribute__((noinline)) void PLUGIN(CUresult *result)
{
    *result = cuCtxSynchronize();
    __asm__ volatile("");
}

void plugin(CUresult *result)
{
    PLUGIN(result);
    __asm__ volatile("");
}
