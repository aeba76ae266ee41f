/*
 * Works with and without a driver by a weak reference. With the library the reference is bound (a
 * documented limit); the call must then fail, not crash.
 */
#include <cuda.h>
#include <stdio.h>

extern CUresult CUDAAPI cuInit(unsigned int flags) __attribute__((weak));

int main(void)
{
    if (!cuInit) {
        printf("weak reference: not bound\n");
        return 0;
    }
    printf("weak reference: bound, cuInit %s\n", cuInit(0) == CUDA_SUCCESS ? "works" : "fails");
    return 0;
}
