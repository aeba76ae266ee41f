/*
 * A user of one libcudart, built twice for two versions into two libraries. SIDE names the
 * function. It leaves an error in its runtime, and prints what the runtime returns.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>

#define NAMED(side, what)       NAMED_AGAIN(side, what)
#define NAMED_AGAIN(side, what) side##_##what

__attribute__((visibility("default"))) void NAMED(SIDE, work)(void);
__attribute__((visibility("default"))) int NAMED(SIDE, last_error)(void);

void NAMED(SIDE, work)(void)
{
    int version = 0;
    void *memory = NULL;
    int results[4];

    cudaRuntimeGetVersion(&version);
    results[0] = (int)cudaMalloc(&memory, 4096);
    results[1] = (int)cudaMemset(memory, 0, 4096);
    results[2] = (int)cudaFree(memory);
    results[3] = (int)cudaFree((void *)0x10);
    printf("runtime %d: malloc %d, memset %d, free %d, bad free %s\n", version / 1000, results[0],
           results[1], results[2], results[3] ? "fails" : "works");
}

int NAMED(SIDE, last_error)(void)
{
    return (int)cudaGetLastError();
}
