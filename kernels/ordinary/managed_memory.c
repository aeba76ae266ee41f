/* Managed memory, written by the host, then by a kernel, and read by the host. Nothing is
 * copied. */
#include "kernels/ordinary/workload.h"

#define WORDS  (1u << 20)
#define ROUNDS 16

int main(void)
{
    struct gv_workload workload;
    CUdeviceptr managed;

    gv_workload_open(&workload, 0);
    CHECK(cuMemAllocManaged(&managed, WORDS * sizeof(uint32_t), CU_MEM_ATTACH_GLOBAL));
    volatile uint32_t *words = (uint32_t *)(uintptr_t)managed;
    uint64_t start_ns = gv_clock_ns();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < WORDS; i += 1024)
            words[i] = i;
        gv_workload_fill(&workload, NULL, managed, round + 77);
        CHECK(cuCtxSynchronize());
        uint32_t wanted = workload.simulated ? 0 : round + 77;
        if (words[0] != wanted || words[1024] != 1024) {
            printf("wrong: %u and %u\n", words[0], words[1024]);
            return 1;
        }
    }
    printf("%d rounds between host and kernel in %.3f ms\n", ROUNDS, gv_clock_ms_since(start_ns));
    gv_claim("kernels", ROUNDS, "fill");
    gv_claim("copies", 0, "host to device");
    CHECK(cuMemFree(managed));
    gv_workload_close(&workload);
    return 0;
}
