/*
 * Allocates and frees memory of all kinds, one way for each argument:
 *
 *    memory WAY
 *
 * Each prints what is true of it, a number for each name: `peak`, the most that was allocated on
 * one device; `left`, what was never freed; `failed`, allocations for which there was no memory;
 * and the line numbers of those that matter.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB      ((size_t)1 << 20)
#define STEPS   20
#define DEVICES 2

static CUcontext contexts[DEVICES];

static void say(const char *name, size_t value)
{
    printf("%s %zu\n", name, value);
}

static void open_device(int device)
{
    CUdevice handle;

    CHECK(cuDeviceGet(&handle, device));
    CHECK(cuDevicePrimaryCtxRetain(&contexts[device], handle));
    CHECK(cuCtxSetCurrent(contexts[device]));
}

static void launch(void)
{
    CUmodule module;
    CUfunction empty;

    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
}

/* Two lines hold the memory at the peak; a third one held more, before. */
static void peak(void)
{
    CUdeviceptr early, first[2], second;

    say("early_line", __LINE__ + 1);
    CHECK(cuMemAlloc(&early, 100 * MB));
    CHECK(cuMemFree(early));
    for (int i = 0; i < 2; i++) {
        say("first_line", __LINE__ + 1);
        CHECK(cuMemAlloc(&first[i], 40 * MB));
    }
    say("second_line", __LINE__ + 1);
    CHECK(cuMemAlloc(&second, 30 * MB));
    CHECK(cuMemFree(second));
    for (int i = 0; i < 2; i++)
        CHECK(cuMemFree(first[i]));
    say("peak", 110 * MB);
    say("left", 0);
}

static void leak(void)
{
    CUdeviceptr kept, freed;

    say("line", __LINE__ + 2);
    for (int i = 0; i < 3; i++)
        CHECK(cuMemAlloc(&kept, 8 * MB));
    CHECK(cuMemAlloc(&freed, 8 * MB));
    CHECK(cuMemFree(freed));
    say("peak", 32 * MB);
    say("left", 24 * MB);
}

/* A little more in each step. */
static void growth(void)
{
    CUdeviceptr kept;

    say("line", __LINE__ + 3);
    for (int i = 0; i < STEPS; i++) {
        usleep(5000);
        CHECK(cuMemAlloc(&kept, 2 * MB));
    }
    say("peak", STEPS * 2 * MB);
    say("left", STEPS * 2 * MB);
}

/* In every step; beside it, memory that is allocated once. */
static void churn(void)
{
    CUdeviceptr once, memory;

    say("once_line", __LINE__ + 1);
    CHECK(cuMemAlloc(&once, 16 * MB));
    say("line", __LINE__ + 2);
    for (int i = 0; i < STEPS; i++) {
        CHECK(cuMemAlloc(&memory, 4 * MB));
        CHECK(cuMemFree(memory));
    }
    CHECK(cuMemFree(once));
    say("times", STEPS);
    say("peak", 20 * MB);
    say("left", 0);
}

static CUmemAllocationProp on_device(int device)
{
    CUmemAllocationProp where = {0};

    where.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    where.location.id = device;
    return where;
}

/* As expandable segments do: the handles are released at once, and the memory lives on. Of three
 * pieces one is mapped twice; all are unmapped by one call each for a range. */
static void virtual_memory(bool unmaps)
{
    const CUmemAllocationProp where = on_device(0);
    CUmemGenericAllocationHandle handle, again;
    CUdeviceptr range, other;

    CHECK(cuMemAddressReserve(&range, 12 * MB, 0, 0, 0));
    CHECK(cuMemAddressReserve(&other, 4 * MB, 0, 0, 0));
    say("line", __LINE__ + 2);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(cuMemCreate(&handle, 4 * MB, &where, 0));
        CHECK(cuMemMap(range + i * 4 * MB, 4 * MB, 0, handle, 0));
        if (i == 2)
            CHECK(cuMemMap(other, 4 * MB, 0, handle, 0));
        CHECK(cuMemRelease(handle));
    }
    if (unmaps) {
        CHECK(cuMemUnmap(range, 12 * MB));
        CHECK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)other));
        CHECK(cuMemUnmap(other, 4 * MB));
        CHECK(cuMemCreate(&handle, 2 * MB, &where, 0)); /* beside the 4 MB that are retained */
        CHECK(cuMemRelease(handle));
        CHECK(cuMemRelease(again));
    }
    say("peak", 12 * MB);
    say("left", unmaps ? 0 : 12 * MB);
}

static void vmm(void)
{
    virtual_memory(true);
}

static void vmm_leak(void)
{
    virtual_memory(false);
}

static void pool(void)
{
    CUstream stream;
    CUdeviceptr memory[2];

    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < STEPS; i++) {
        say("line", __LINE__ + 1);
        CHECK(cuMemAllocAsync(&memory[0], 6 * MB, stream));
        CHECK(cuMemAllocAsync(&memory[1], 2 * MB, stream));
        CHECK(cuMemFreeAsync(memory[0], stream));
        CHECK(cuMemFreeAsync(memory[1], stream));
    }
    CHECK(cuStreamSynchronize(stream));
    say("peak", 8 * MB);
    say("left", 0);
}

static void managed(void)
{
    CUdeviceptr memory;
    void *pinned;

    CHECK(cuMemAllocManaged(&memory, 8 * MB, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocHost(&pinned, 64 * MB));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(memory));
    say("peak", 8 * MB);
    say("left", 0);
}

static void rows_and_arrays(void)
{
    const CUDA_ARRAY_DESCRIPTOR plane = {
        .Width = 1024, .Height = 512, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2};
    CUarray array;
    CUdeviceptr rows;
    size_t pitch;

    CHECK(cuArrayCreate(&array, &plane));
    CHECK(cuMemAllocPitch(&rows, &pitch, 1000, 2048, 4));
    say("peak", 4 * MB + 2048 * pitch);
    CHECK(cuMemFree(rows));
    CHECK(cuArrayDestroy(array));
    say("left", 0);
}

/* The second process opens the first one's memory: it is not there twice. */
static void ipc(void)
{
    CUipcMemHandle shared;
    CUdeviceptr memory;
    int pipes[2], status;

    CHECK(pipe(pipes));
    pid_t child = fork();
    if (child == 0) {
        CHECK(cuInit(0));
        open_device(0);
        launch();
        if (read(pipes[0], &shared, sizeof(shared)) != (ssize_t)sizeof(shared))
            exit(1);
        CHECK(cuIpcOpenMemHandle(&memory, shared, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        CHECK(cuIpcCloseMemHandle(memory));
        exit(0);
    }
    CHECK(cuInit(0));
    open_device(0);
    launch();
    CHECK(cuMemAlloc(&memory, 32 * MB));
    CHECK(cuIpcGetMemHandle(&shared, memory));
    if (write(pipes[1], &shared, sizeof(shared)) != (ssize_t)sizeof(shared))
        exit(1);
    if (waitpid(child, &status, 0) != child || status != 0)
        exit(1);
    CHECK(cuMemFree(memory));
    say("peak", 32 * MB);
    say("left", 0);
}

/* Each device has its own memory: 48 MB on one, 32 MB on the other. */
static void devices(void)
{
    CUdeviceptr memory[DEVICES];
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp where = on_device(1);

    open_device(1);
    CHECK(cuMemAlloc(&memory[1], 32 * MB));
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuMemAlloc(&memory[0], 24 * MB));
    CHECK(cuMemCreate(&handle, 16 * MB, &where, 0)); /* whatever context is current */
    CHECK(cuMemFree(memory[0]));
    CHECK(cuMemFree(memory[1]));
    CHECK(cuMemRelease(handle));
    say("peak", 48 * MB);
    say("peak_of_other", 24 * MB);
    say("left", 0);
}

/* Holds three quarters of the memory, and asks for as much again. */
static void fill(CUdeviceptr *held, CUdeviceptr *more, size_t *size)
{
    size_t free_bytes, total;

    CHECK(cuMemGetInfo(&free_bytes, &total));
    *size = free_bytes / 4 * 3 / MB * MB;
    say("held_line", __LINE__ + 1);
    CHECK(cuMemAlloc(held, *size));
    say("refused_line", __LINE__ + 1);
    if (cuMemAlloc(more, *size) != CUDA_ERROR_OUT_OF_MEMORY)
        exit(1);
    say("size", *size);
    say("peak", *size);
    say("failed", 1);
}

static void full(void)
{
    CUdeviceptr held, more;
    size_t size;

    fill(&held, &more, &size);
    fflush(stdout);
    _exit(1);
}

/* As PyTorch does: frees what it keeps, and asks again. */
static void full_again(void)
{
    CUdeviceptr held, more;
    size_t size;

    fill(&held, &more, &size);
    CHECK(cuMemFree(held));
    CHECK(cuMemAlloc(&more, size));
    say("left", size);
}

/* Is content with less. */
static void full_less(void)
{
    CUdeviceptr held, more;
    size_t size;

    fill(&held, &more, &size);
    CHECK(cuMemFree(held));
    CHECK(cuMemAlloc(&more, 1 * MB));
    say("left", 1 * MB);
}

static const struct {
    const char *name;
    void (*run)(void);
    bool opens; /* the device by itself */
} ways[] = {
    {"peak", peak, false},
    {"leak", leak, false},
    {"growth", growth, false},
    {"churn", churn, false},
    {"vmm", vmm, false},
    {"vmm_leak", vmm_leak, false},
    {"pool", pool, false},
    {"managed", managed, false},
    {"rows_and_arrays", rows_and_arrays, false},
    {"ipc", ipc, true},
    {"devices", devices, false},
    {"full", full, false},
    {"full_again", full_again, false},
    {"full_less", full_less, false},
};

int main(int count, char **words)
{
    for (size_t i = 0; count == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(words[1], ways[i].name) != 0)
            continue;
        if (!ways[i].opens) {
            CHECK(cuInit(0));
            open_device(0);
            launch();
        }
        ways[i].run();
        return 0;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        puts(ways[i].name);
    return 2;
}
