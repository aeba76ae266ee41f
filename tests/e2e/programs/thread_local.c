/* Has more thread-local memory than a small stack, from which libc takes it. */
#include "e2e.h"

static _Thread_local volatile char large[3 << 20];

int main(void)
{
    struct e2e_gpu gpu;

    large[sizeof large - 1] = 1;
    e2e_open(&gpu);
    e2e_spin(&gpu, NULL, 20000000);
    OK(cuModuleUnload(gpu.module));
    return large[0];
}
