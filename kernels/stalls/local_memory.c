/* Launching a kernel that needs more local memory than any before waits until the context is
 * idle. */
#include "kernels/stalls/stage.h"

/* Writes its local memory and reads it back, so that the compiler keeps all of it. */
static const char deep_ptx[] = GV_PTX_HEAD ".visible .entry deep(.param .u64 deep_to)\n"
                                           "{\n"
                                           "    .local .align 8 .b8 depot[65536];\n"
                                           "    .reg .b32 %r<5>;\n"
                                           "    .reg .b64 %rd<7>;\n"
                                           "    ld.param.u64 %rd1, [deep_to];\n"
                                           "    cvta.to.global.u64 %rd2, %rd1;\n"
                                           "    mov.u64 %rd3, depot;\n"
                                           "    mov.u32 %r1, %clock;\n"
                                           "    and.b32 %r2, %r1, 65532;\n"
                                           "    cvt.u64.u32 %rd4, %r2;\n"
                                           "    add.u64 %rd5, %rd3, %rd4;\n"
                                           "    st.local.u32 [%rd5], %r1;\n"
                                           "    ld.local.u32 %r3, [depot+1024];\n"
                                           "    st.global.u32 [%rd2], %r3;\n"
                                           "    ret;\n"
                                           "}\n";

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;
    CUfunction deep;
    CUdeviceptr memory;
    void *parameters[] = {&memory};

    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuModuleLoadData(&module, deep_ptx));
    CHECK(cuModuleGetFunction(&deep, module, "deep"));
    gv_stage_busy(&stage);
    TIMED("launch", cuLaunchKernel, (deep, 1, 1, 1, 32, 1, 1, 0, stage.other, parameters, NULL));
    return gv_stage_close(&stage);
}
