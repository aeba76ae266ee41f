/*
 * Launches a thousand kernels that do nothing: all time goes into launching.
 *
 *     tiny_kernels [LAUNCHES]      default 1000
 */
#include "kernels/ordinary/workload.h"

int main(int argc, char **argv)
{
    unsigned long launches = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    struct gv_workload workload;

    gv_workload_open(&workload, 0);
    uint64_t start_ns = gv_clock_ns();
    for (unsigned long i = 0; i < launches; i++)
        CHECK(cuLaunchKernel(workload.empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    double launched_ms = gv_clock_ms_since(start_ns);
    CHECK(cuCtxSynchronize());
    printf("launched %lu empty kernels in %.3f ms, done after %.3f ms\n", launches, launched_ms,
           gv_clock_ms_since(start_ns));
    gv_claim("kernels", launches, "empty");
    gv_claim("calls", launches, "cuLaunchKernel");
    gv_workload_close(&workload);
    return 0;
}
