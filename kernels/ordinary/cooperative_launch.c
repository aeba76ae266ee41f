/*
 * A cooperative launch: all blocks of the kernel `meet` wait for each other, so all of them must
 * run at the same time.
 */
#include "kernels/ordinary/workload.h"

#define ROUNDS 20

/* meet(u64 counter, u32 all): adds one and waits until the counter is `all`. */
static const char meet_ptx[] =
    GV_PTX_HEAD ".visible .entry meet(.param .u64 meet_counter, .param .u32 meet_all)\n"
                "{\n"
                "    .reg .pred %p<2>;\n"
                "    .reg .b32 %r<4>;\n"
                "    .reg .b64 %rd<3>;\n"
                "    ld.param.u64 %rd1, [meet_counter];\n"
                "    ld.param.u32 %r1, [meet_all];\n"
                "    cvta.to.global.u64 %rd2, %rd1;\n"
                "    atom.global.add.u32 %r2, [%rd2], 1;\n"
                "WAIT:\n"
                "    ld.volatile.global.u32 %r3, [%rd2];\n"
                "    setp.lt.u32 %p1, %r3, %r1;\n"
                "    @%p1 bra WAIT;\n"
                "    ret;\n"
                "}\n";

int main(void)
{
    struct gv_workload workload;
    CUmodule module;
    CUfunction meet;
    CUdeviceptr counter;
    int possible = 0, processors = 0, each = 0;

    gv_workload_open(&workload, 0);
    CHECK(cuDeviceGetAttribute(&possible, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, workload.device));
    if (!possible) {
        puts("skipped: this device has no cooperative launches");
        return GV_WORKLOAD_SKIPPED;
    }
    CHECK(cuModuleLoadData(&module, meet_ptx));
    CHECK(cuModuleGetFunction(&meet, module, "meet"));
    CHECK(cuMemAlloc(&counter, sizeof(uint32_t)));
    CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                               workload.device));
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, meet, 1, 0));
    uint32_t all = (uint32_t)(processors * each);
    void *parameters[] = {&counter, &all};
    uint64_t start_ns = gv_clock_ns();
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(cuMemsetD32Async(counter, 0, 1, NULL));
        CHECK(cuLaunchCooperativeKernel(meet, all, 1, 1, 1, 1, 1, 0, NULL, parameters));
    }
    CHECK(cuCtxSynchronize());
    printf("%u blocks met %d times in %.3f ms\n", all, ROUNDS, gv_clock_ms_since(start_ns));
    gv_claim("kernels", ROUNDS, "meet");
    gv_claim("calls", ROUNDS, "cuLaunchCooperativeKernel");
    gv_claim("sets", ROUNDS, "memset");
    CHECK(cuMemFree(counter));
    CHECK(cuModuleUnload(module));
    gv_workload_close(&workload);
    return 0;
}
