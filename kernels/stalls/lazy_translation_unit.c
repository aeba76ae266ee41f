/*
 * A plain <<<>>> program of two files. The first launch of a kernel of the other file loads that
 * file's code and waits for the GPU; the first launch of its other kernel does not.
 *
 *     lazy_translation_unit [idle] [MILLISECONDS]
 */
#include "kernels/stalls/translation_unit.h"

#include <stdbool.h>
#include <string.h>

GV_TRANSLATION_UNIT(GV_PTX_HEAD GV_PTX_SPIN_AS("spin"));

static void spin(cudaStream_t stream, uint64_t ms)
{
    uint64_t ns = ms * 1000000u;
    void *parameters[] = {&ns};

    gv_unit_launch((const void *)(uintptr_t)spin, stream, parameters);
}

static void gv_unit_kernels(void **handle)
{
    GV_TRANSLATION_UNIT_KERNEL((uintptr_t)spin, "spin");
}

static void timed(const char *label, void (*launch)(cudaStream_t), cudaStream_t stream)
{
    uint64_t start_ns = gv_clock_ns();

    launch(stream);
    printf("timed %s cudaLaunchKernel %.3f\n", label, gv_clock_ms_since(start_ns));
}

/* PTX from the cache loads in no time compared with the wait. */
static void compile(const char *ptx)
{
    cudaLibrary_t library;

    CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryUnload(library));
}

int main(int argc, char **argv)
{
    cudaStream_t stream, other;
    uint64_t busy_ms = 150;
    bool idle = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "idle") == 0)
            idle = true;
        else
            busy_ms = strtoull(argv[i], NULL, 10);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    compile(gv_other_ptx);
    spin(stream, 0);
    CHECK(cudaDeviceSynchronize());
    if (!idle)
        spin(stream, busy_ms);
    timed("first", gv_other_first, other);
    CHECK(cudaDeviceSynchronize());
    if (!idle)
        spin(stream, busy_ms);
    timed("second", gv_other_second, other);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    return 0;
}
