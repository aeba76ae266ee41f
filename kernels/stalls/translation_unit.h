/*
 * What nvcc generates from a .cu file, written by hand: the kernels as a fat binary, registered
 * before main, and identified by the address of the host function that launches them. So plain
 * <<<>>> programs can be built without nvcc.
 *
 *     GV_TRANSLATION_UNIT(PTX)                  once in a file, PTX is a string literal
 *     GV_TRANSLATION_UNIT_KERNEL(launch, "name") in gv_unit_kernels(), which the file defines
 */
#ifndef GV_KERNELS_STALLS_TRANSLATION_UNIT_H
#define GV_KERNELS_STALLS_TRANSLATION_UNIT_H

#include <cuda_runtime_api.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"
#include "kernels/stalls/fat_binary.h"

#include <stdint.h>
#include <stdlib.h>

/* Called by compiled code; no public header declares these. */
void **__cudaRegisterFatBinary(void *data);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);

struct gv_unit_wrapper {
    uint32_t magic, version;
    const void *data;
    void *unused;
};

#define GV_TRANSLATION_UNIT_KERNEL(launch, kernel)                                                 \
    do {                                                                                           \
        static char name[] = kernel;                                                               \
        __cudaRegisterFunction(handle, (const char *)(launch), name, name, -1, NULL, NULL, NULL,   \
                               NULL, NULL);                                                        \
    } while (0)

#define GV_TRANSLATION_UNIT(PTX)                                                                   \
    GV_FAT_BINARY(gv_unit_image, PTX);                                                             \
    static const struct gv_unit_wrapper gv_unit_wrapper = {0x466243b1u, 1, &gv_unit_image, NULL};  \
    static void **gv_unit_handle;                                                                  \
    static void gv_unit_kernels(void **handle);                                                    \
    static void gv_unit_leave(void)                                                                \
    {                                                                                              \
        __cudaUnregisterFatBinary(gv_unit_handle);                                                 \
    }                                                                                              \
    __attribute__((constructor)) static void gv_unit_register(void)                                \
    {                                                                                              \
        gv_unit_handle = __cudaRegisterFatBinary((void *)(uintptr_t)&gv_unit_wrapper);             \
        gv_unit_kernels(gv_unit_handle);                                                           \
        __cudaRegisterFatBinaryEnd(gv_unit_handle);                                                \
        atexit(gv_unit_leave);                                                                     \
    }                                                                                              \
    _Static_assert(sizeof(gv_unit_wrapper) == 24, "as the runtime reads it")

/* kernel<<<1, 1, 0, stream>>>(...) */
static inline void gv_unit_launch(const void *host, cudaStream_t stream, void **parameters)
{
    dim3 one = {1, 1, 1};

    CHECK(cudaLaunchKernel(host, one, one, parameters, 0, stream));
}

/* lazy_translation_unit_other.c: its first kernel, and another one. */
void gv_other_first(cudaStream_t stream);
void gv_other_second(cudaStream_t stream);
/* Its code, to fill the driver's cache. */
extern const char gv_other_ptx[];

#endif
