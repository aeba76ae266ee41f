/*
 * Code in the forms that programs load: PTX that is in no cache, and a cubin and a fat binary for
 * the current device, made from PTX at run time.
 */
#ifndef GV_KERNELS_STALLS_IMAGES_H
#define GV_KERNELS_STALLS_IMAGES_H

#include "kernels/stalls/stage.h"

#include <unistd.h>

/* Takes the compiler some tens of milliseconds. */
#define GV_IMAGES_STEPS 1500u

/* PTX with a kernel "late". The caller frees it. `fresh`: no program has compiled it before. */
static inline char *gv_images_ptx(bool fresh)
{
    size_t room = 4096 + GV_IMAGES_STEPS * 64u, used;
    char *text = malloc(room);

    if (!text)
        exit(1);
    used = (size_t)snprintf(text, room,
                            GV_PTX_HEAD ".visible .global .align 8 .u64 late_tag = %llu;\n"
                                        ".visible .entry late(.param .u64 late_to)\n{\n"
                                        "    .reg .b32 %%r<4>;\n    .reg .b64 %%rd<3>;\n"
                                        "    ld.param.u64 %%rd1, [late_to];\n"
                                        "    cvta.to.global.u64 %%rd2, %%rd1;\n"
                                        "    mov.u32 %%r1, %%tid.x;\n    mov.u32 %%r2, %%clock;\n",
                            fresh ? (unsigned long long)gv_clock_ns() * 100000u + (unsigned)getpid()
                                  : 1ull);
    for (unsigned step = 0; step < GV_IMAGES_STEPS; step++)
        used += (size_t)snprintf(text + used, room - used, "    mad.lo.u32 %%r1, %%r1, %%r2, %u;\n",
                                 step * 2654435761u);
    snprintf(text + used, room - used, "    st.global.u32 [%%rd2], %%r1;\n    ret;\n}\n");
    return text;
}

/* The same as a cubin. The caller frees it. */
static inline void *gv_images_cubin(size_t *size)
{
    char *ptx = gv_images_ptx(false);
    CUlinkState link;
    void *linked, *cubin;

    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, ptx, strlen(ptx) + 1, "late", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &linked, size));
    cubin = malloc(*size);
    if (!cubin)
        exit(1);
    memcpy(cubin, linked, *size);
    CHECK(cuLinkDestroy(link));
    free(ptx);
    return cubin;
}

#endif
