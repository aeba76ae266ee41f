/* Uses every GPU of the machine, up to eight, at the same time, and copies from each to the
 * next. */
#include "kernels/ordinary/workload.h"

#define MOST    8
#define BYTES   (8u << 20)
#define SPIN_NS 20000000u

int main(void)
{
    struct gv_workload gpus[MOST];
    CUdeviceptr memory[MOST];
    int count = 0;

    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    if (count < 2) {
        puts("skipped: this needs two devices");
        return GV_WORKLOAD_SKIPPED;
    }
    if (count > MOST)
        count = MOST;
    for (int i = 0; i < count; i++) {
        gv_workload_open(&gpus[i], i);
        CHECK(cuMemAlloc(&memory[i], BYTES));
    }
    uint64_t start_ns = gv_clock_ns();
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxSetCurrent(gpus[i].context));
        gv_workload_spin(&gpus[i], NULL, SPIN_NS);
    }
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxSetCurrent(gpus[i].context));
        CHECK(cuCtxSynchronize());
    }
    printf("%d kernels of %.3f ms on as many GPUs took %.3f ms\n", count, SPIN_NS / 1e6,
           gv_clock_ms_since(start_ns));
    for (int i = 0; i < count; i++) {
        int next = (i + 1) % count;
        CHECK(cuMemcpyPeer(memory[next], gpus[next].context, memory[i], gpus[i].context, BYTES));
    }
    printf("copied %u bytes from each GPU to the next\n", BYTES);
    gv_claim("kernels", (unsigned long)count, "spin");
    gv_claim("devices", (unsigned long)count, "spin");
    gv_claim("calls", (unsigned long)count, "cuMemcpyPeer");
    for (int i = 0; i < count; i++) {
        CHECK(cuCtxSetCurrent(gpus[i].context));
        CHECK(cuMemFree(memory[i]));
        gv_workload_close(&gpus[i]);
    }
    return 0;
}
