/* The workloads' kernels as PTX, for any GPU from sm_70 on. */
#ifndef GV_KERNELS_PTX_H
#define GV_KERNELS_PTX_H

#define GV_PTX_HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* empty: does nothing. */
#define GV_PTX_EMPTY_AS(name) ".visible .entry " name "()\n{\n    ret;\n}\n"

/* spin(u64 ns): runs for that long by the GPU's clock. */
#define GV_PTX_SPIN_AS(name)                                                                       \
    ".visible .entry " name "(.param .u64 " name "_ns)\n"                                          \
    "{\n"                                                                                          \
    "    .reg .pred %p<2>;\n"                                                                      \
    "    .reg .b64 %rd<6>;\n"                                                                      \
    "    ld.param.u64 %rd1, [" name "_ns];\n"                                                      \
    "    mov.u64 %rd2, %globaltimer;\n"                                                            \
    "    add.u64 %rd3, %rd2, %rd1;\n"                                                              \
    "AGAIN_" name ":\n"                                                                            \
    "    mov.u64 %rd4, %globaltimer;\n"                                                            \
    "    setp.lt.u64 %p1, %rd4, %rd3;\n"                                                           \
    "    @%p1 bra AGAIN_" name ";\n"                                                               \
    "    ret;\n"                                                                                   \
    "}\n"

/* fill(u64 pointer, u32 value): writes one word. */
#define GV_PTX_FILL_AS(name)                                                                       \
    ".visible .entry " name "(.param .u64 " name "_to, .param .u32 " name "_value)\n"              \
    "{\n"                                                                                          \
    "    .reg .b32 %r<2>;\n"                                                                       \
    "    .reg .b64 %rd<3>;\n"                                                                      \
    "    ld.param.u64 %rd1, [" name "_to];\n"                                                      \
    "    ld.param.u32 %r1, [" name "_value];\n"                                                    \
    "    cvta.to.global.u64 %rd2, %rd1;\n"                                                         \
    "    st.global.u32 [%rd2], %r1;\n"                                                             \
    "    ret;\n"                                                                                   \
    "}\n"

static const char gv_ptx_tour[] =
    GV_PTX_HEAD ".visible .global .align 4 .b8 tour_table[256];\n" GV_PTX_EMPTY_AS("empty")
        GV_PTX_SPIN_AS("spin") GV_PTX_FILL_AS("fill");

/* A second module with other names. */
static const char gv_ptx_second[] =
    GV_PTX_HEAD GV_PTX_EMPTY_AS("second_empty") GV_PTX_FILL_AS("second_fill");

#endif
