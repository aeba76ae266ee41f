/*
 * One kernel that runs for long, while the host waits.
 *
 *     long_kernel [MILLISECONDS]      default 300
 */
#include "kernels/ordinary/workload.h"

int main(int argc, char **argv)
{
    unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
    struct gv_workload workload;
    CUevent start, end;
    float between_ms = 0;

    gv_workload_open(&workload, 0);
    CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    /* The first launch loads code, which must not be timed. */
    gv_workload_spin(&workload, NULL, 0);
    CHECK(cuCtxSynchronize());
    CHECK(cuEventRecord(start, NULL));
    gv_workload_spin(&workload, NULL, ms * 1000000u);
    CHECK(cuEventRecord(end, NULL));
    uint64_t start_ns = gv_clock_ns();
    CHECK(cuEventSynchronize(end));
    printf("waited %.3f ms\n", gv_clock_ms_since(start_ns));
    CHECK(cuEventElapsedTime(&between_ms, start, end));
    gv_claim("kernels", 2, "spin");
    gv_claim_ms("longest", (double)ms, "spin");
    gv_claim_ms("events", (double)between_ms, "spin");
    CHECK(cuEventDestroy(start));
    CHECK(cuEventDestroy(end));
    gv_workload_close(&workload);
    return 0;
}
