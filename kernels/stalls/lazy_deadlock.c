/*
 * The deadlock of lazy loading: a kernel spins until another one sets a flag. The first launch of
 * that one must load its code, which waits for the first kernel. Here the first kernel gives up
 * after MILLISECONDS, default 2000.
 */
#include "kernels/stalls/stage.h"

/* spin_for_flag(u64 ns, u64 flag): spins until the flag is set, for at most ns. set_flag(u64
 * flag). */
static const char waits_ptx[] =
    GV_PTX_HEAD ".visible .entry spin_for_flag(.param .u64 wait_ns, .param .u64 wait_flag)\n"
                "{\n"
                "    .reg .pred %p<3>;\n"
                "    .reg .b32 %r<2>;\n"
                "    .reg .b64 %rd<7>;\n"
                "    ld.param.u64 %rd1, [wait_ns];\n"
                "    ld.param.u64 %rd5, [wait_flag];\n"
                "    cvta.to.global.u64 %rd6, %rd5;\n"
                "    mov.u64 %rd2, %globaltimer;\n"
                "    add.u64 %rd3, %rd2, %rd1;\n"
                "AGAIN:\n"
                "    ld.volatile.global.u32 %r1, [%rd6];\n"
                "    setp.ne.u32 %p2, %r1, 0;\n"
                "    @%p2 bra DONE;\n"
                "    mov.u64 %rd4, %globaltimer;\n"
                "    setp.lt.u64 %p1, %rd4, %rd3;\n"
                "    @%p1 bra AGAIN;\n"
                "DONE:\n"
                "    ret;\n"
                "}\n";
static const char sets_ptx[] = GV_PTX_HEAD ".visible .entry set_flag(.param .u64 set_to)\n"
                                           "{\n"
                                           "    .reg .b64 %rd<3>;\n"
                                           "    .reg .b32 %r<2>;\n"
                                           "    ld.param.u64 %rd1, [set_to];\n"
                                           "    cvta.to.global.u64 %rd2, %rd1;\n"
                                           "    mov.u32 %r1, 1;\n"
                                           "    st.volatile.global.u32 [%rd2], %r1;\n"
                                           "    ret;\n"
                                           "}\n";

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;
    CUfunction waits;
    CUlibrary library;
    CUkernel sets;
    CUdeviceptr flag;

    gv_stage_open(&stage, argc, argv);
    uint64_t ns = (argc > 1 && !stage.idle ? stage.busy_ms : 2000) * 1000000u;
    void *wait_parameters[] = {&ns, &flag}, *set_parameters[] = {&flag};
    CHECK(cuMemAlloc(&flag, 4));
    CHECK(cuMemsetD32(flag, 0, 1));
    CHECK(cuModuleLoadData(&module, waits_ptx));
    CHECK(cuModuleGetFunction(&waits, module, "spin_for_flag"));
    CHECK(cuLibraryLoadData(&library, sets_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&sets, library, "set_flag"));
    CHECK(cuCtxSynchronize());
    if (!stage.idle)
        CHECK(cuLaunchKernel(waits, 1, 1, 1, 1, 1, 1, 0, stage.stream, wait_parameters, NULL));
    TIMED("launch", cuLaunchKernel,
          ((CUfunction)sets, 1, 1, 1, 1, 1, 1, 0, stage.other, set_parameters, NULL));
    return gv_stage_close(&stage);
}
