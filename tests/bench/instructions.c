/*
 * Counts the instructions of libgpuverify.so that a call runs through, with the CPU's trap flag:
 * the least of TRIES, because the first calls do more. The very first is not stepped: it looks its
 * entry point up with signals blocked, where a trap would be deadly. Prints a line for each call:
 *
 *     NAME stopped N recorded N
 *
 * Stepped calls are slow: without GPUVERIFY_STACKS=off and a high GPUVERIFY_STALL_US, their stacks
 * count too.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "kernels/check.h"
#include "kernels/ptx.h"
#include "nvtx/gpuverify.h"

#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#ifndef __x86_64__
int main(void)
{
    printf("needs the trap flag of x86-64\n");
    return 77;
}
#else

#define TRIES 4

static uintptr_t low, high; /* the library's code */
static volatile unsigned steps;

static void on_trap(int number, siginfo_t *info, void *interrupted)
{
    uintptr_t at = (uintptr_t)((ucontext_t *)interrupted)->uc_mcontext.gregs[REG_RIP];

    (void)number;
    (void)info;
    steps += at >= low && at < high;
}

#define TRAP_ON  __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc")
#define TRAP_OFF __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc")

static int find_library(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    if (!strstr(info->dlpi_name, "libgpuverify.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD && (header->p_flags & PF_X)) {
            low = info->dlpi_addr + header->p_vaddr;
            high = low + header->p_memsz;
        }
    }
    return 1;
}

static CUfunction empty;
static CUdeviceptr buffer;
static CUstream stream;
static CUevent event;
static const void *kernel;
static size_t bytes_free, bytes_total;
static CUstreamCaptureStatus capturing;
static int threads;

#define CALLS                                                                                      \
    CALL(cuLaunchKernel, (empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL))                         \
    CALL(cuMemcpyDtoDAsync, (buffer, buffer + 64, 64, stream))                                     \
    CALL(cuMemsetD8Async, (buffer, 0, 64, stream))                                                 \
    CALL(cuEventRecord, (event, stream))                                                           \
    CALL(cuStreamSynchronize, (stream))                                                            \
    CALL(cuEventQuery, (event))                                                                    \
    CALL(cuStreamQuery, (stream))                                                                  \
    CALL(cuMemGetInfo, (&bytes_free, &bytes_total))                                                \
    CALL(cuStreamIsCapturing, (stream, &capturing))                                                \
    CALL(cuFuncGetAttribute, (&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, empty))           \
    CALL(cudaLaunchKernel, (kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, stream))            \
    CALL(cudaMemsetAsync, ((void *)buffer, 0, 64, stream))

#define CALL(name, arguments)                                                                      \
    static unsigned count_##name(void)                                                             \
    {                                                                                              \
        unsigned least = UINT32_MAX;                                                               \
                                                                                                   \
        for (int i = 0; i < TRIES; i++) {                                                          \
            CHECK(cuCtxSynchronize());                                                             \
            steps = 0;                                                                             \
            if (i)                                                                                 \
                TRAP_ON;                                                                           \
            int result = (int)name arguments;                                                      \
            TRAP_OFF;                                                                              \
            CHECK(result);                                                                         \
            if (i && steps < least)                                                                \
                least = steps;                                                                     \
        }                                                                                          \
        return least;                                                                              \
    }
CALLS
#undef CALL

static void open_gpu(void)
{
    static const char image[] = GV_PTX_HEAD ".visible .entry empty()\n{\n    ret;\n}\n";
    cudaLibrary_t library;
    cudaKernel_t found;
    CUmodule module;

    CHECK(cudaSetDevice(0));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cudaLibraryGetKernel(&found, library, "empty"));
    kernel = (const void *)found;
    CHECK(cuMemAlloc(&buffer, 4096));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

    sigaction(SIGTRAP, &action, NULL);
    dl_iterate_phdr(find_library, NULL);
    open_gpu();
#define CALL(name, arguments)                                                                      \
    gv_stop();                                                                                     \
    printf("%s stopped %u", #name, count_##name());                                                \
    gv_start();                                                                                    \
    printf(" recorded %u\n", count_##name());
    CALLS
    return 0;
}
#endif
