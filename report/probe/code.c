/* The code that the probe loads: PTX, and a cubin that the driver's linker makes from it. */
#include "report/probe/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GV_PROBE_PTX_HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
/* Takes the compiler at least some milliseconds. */
#define GV_PROBE_PTX_STEPS 400u
#define GV_PROBE_PTX_BYTES (4096u + GV_PROBE_PTX_STEPS * 64u)

static uint64_t probe_tag(struct gv_probe_stage *stage)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec << 34 | (uint64_t)(getpid() & 0x3fffff) << 12 |
           (stage->serial++ & 0xfff);
}

static int probe_write_late(struct gv_probe_stage *stage, uint64_t tag)
{
    size_t used;
    char *text = malloc(GV_PROBE_PTX_BYTES);

    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    used = (size_t)snprintf(text, GV_PROBE_PTX_BYTES,
                            GV_PROBE_PTX_HEAD
                            ".visible .global .align 8 .u64 late_tag = %llu;\n"
                            ".visible .entry second()\n{\n    ret;\n}\n"
                            ".visible .entry late(.param .u64 late_to)\n{\n"
                            "    .reg .b32 %%r<3>;\n    .reg .b64 %%rd<3>;\n"
                            "    .reg .pred %%p<2>;\n"
                            "    ld.param.u64 %%rd1, [late_to];\n"
                            "    setp.eq.u64 %%p1, %%rd1, 0;\n    @%%p1 bra LATE_END;\n"
                            "    cvta.to.global.u64 %%rd2, %%rd1;\n"
                            "    mov.u32 %%r1, %%tid.x;\n    mov.u32 %%r2, %%clock;\n",
                            (unsigned long long)tag);
    for (unsigned int step = 0; step < GV_PROBE_PTX_STEPS; step++)
        used += (size_t)snprintf(text + used, GV_PROBE_PTX_BYTES - used,
                                 "    mad.lo.u32 %%r1, %%r1, %%r2, %u;\n", step * 2654435761u);
    snprintf(text + used, GV_PROBE_PTX_BYTES - used,
             "    st.global.u32 [%%rd2], %%r1;\nLATE_END:\n    ret;\n}\n");
    free(stage->ptx);
    stage->ptx = text;
    return CUDA_SUCCESS;
}

int gv_probe_write_ptx(struct gv_probe_stage *stage)
{
    return probe_write_late(stage, probe_tag(stage));
}

/* Writes its local memory and reads it back, so that the compiler keeps all of it. */
int gv_probe_write_deep(struct gv_probe_stage *stage)
{
    char *text = malloc(GV_PROBE_PTX_BYTES);

    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    snprintf(text, GV_PROBE_PTX_BYTES,
             GV_PROBE_PTX_HEAD ".visible .entry deep(.param .u64 deep_to)\n{\n"
                               "    .local .align 8 .b8 depot[%zu];\n"
                               "    .reg .b32 %%r<4>;\n    .reg .b64 %%rd<6>;\n"
                               "    ld.param.u64 %%rd1, [deep_to];\n"
                               "    cvta.to.global.u64 %%rd2, %%rd1;\n"
                               "    mov.u64 %%rd3, depot;\n    mov.u32 %%r1, %%clock;\n"
                               "    and.b32 %%r2, %%r1, 8188;\n    cvt.u64.u32 %%rd4, %%r2;\n"
                               "    add.u64 %%rd5, %%rd3, %%rd4;\n"
                               "    st.local.u32 [%%rd5], %%r1;\n"
                               "    ld.local.u32 %%r3, [depot+1024];\n"
                               "    st.global.u32 [%%rd2], %%r3;\n    ret;\n}\n",
             stage->depot_bytes);
    free(stage->ptx);
    stage->ptx = text;
    return CUDA_SUCCESS;
}

void gv_probe_code_renew(struct gv_probe_stage *stage, struct gv_probe_code *code)
{
    uint64_t tag = probe_tag(stage);

    if (code->tag_at)
        memcpy(code->bytes + code->tag_at, &tag, sizeof(tag));
}

static int probe_code_link(struct gv_probe_stage *stage, struct gv_probe_code *code)
{
    CUlinkState link;
    void *linked;

    GV_PROBE_TRY(GV_CUDA(cuLinkCreate)(0, NULL, NULL, &link));
    int error = (int)GV_CUDA(cuLinkAddData)(link, CU_JIT_INPUT_PTX, stage->ptx,
                                            strlen(stage->ptx) + 1, "late", 0, NULL, NULL);
    if (!error)
        error = (int)GV_CUDA(cuLinkComplete)(link, &linked, &code->size);
    if (!error && !(code->bytes = malloc(code->size)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error)
        memcpy(code->bytes, linked, code->size);
    GV_CUDA(cuLinkDestroy)(link);
    return error;
}

/* If a driver refuses code with another tag, it gets the code unchanged. */
static void probe_find_tag(struct gv_probe_stage *stage, struct gv_probe_code *code, uint64_t tag)
{
    const unsigned char *found = memmem(code->bytes, code->size, &tag, sizeof(tag));
    CUmodule module;

    if (!found)
        return;
    code->tag_at = (size_t)(found - code->bytes);
    gv_probe_code_renew(stage, code);
    if (GV_CUDA(cuModuleLoadData)(&module, code->bytes) == CUDA_SUCCESS) {
        GV_CUDA(cuModuleUnload)(module);
        return;
    }
    memcpy(code->bytes + code->tag_at, &tag, sizeof(tag));
    code->tag_at = 0;
}

int gv_probe_code_make(struct gv_probe_stage *stage, struct gv_probe_code *code)
{
    uint64_t tag = probe_tag(stage);

    GV_PROBE_TRY(probe_write_late(stage, tag));
    GV_PROBE_TRY(probe_code_link(stage, code));
    probe_find_tag(stage, code, tag);
    return CUDA_SUCCESS;
}
