/*
 * One rank of a job with NCCL: each step has a kernel and an all-reduce. RANK and WORLD_SIZE are in
 * the environment; GV_RANKS_ID names a file by which rank 0 tells the others the unique id.
 *
 *     kernels/ranks/launch 4 build/kernels/ranks/ranks [STEPS] [WORD]...
 *
 * slow=RANK: this rank sleeps before each step. late=RANK: this rank loads code in the middle,
 * while its all-reduce waits for the other ranks, which come later, by 100 ms or late_ms=MS. tour:
 * each call of NCCL once, at the end. results: a call whose result is ncclInProgress, and one that
 * fails.
 */
#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"

#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Each call through a pointer of its own, or through the linked library. */
#ifdef RANKS_DLSYM
#define CALLS(CALL)                                                                                \
    CALL(GetUniqueId)                                                                              \
    CALL(CommInitRank)                                                                             \
    CALL(CommInitRankConfig)                                                                       \
    CALL(CommInitRankScalable)                                                                     \
    CALL(CommSplit)                                                                                \
    CALL(CommFinalize)                                                                             \
    CALL(CommDestroy)                                                                              \
    CALL(CommAbort)                                                                                \
    CALL(CommRegister)                                                                             \
    CALL(CommDeregister)                                                                           \
    CALL(MemAlloc)                                                                                 \
    CALL(MemFree)                                                                                  \
    CALL(GroupStart)                                                                               \
    CALL(GroupEnd)                                                                                 \
    CALL(AllReduce)                                                                                \
    CALL(AllGather)                                                                                \
    CALL(ReduceScatter)                                                                            \
    CALL(Broadcast)                                                                                \
    CALL(Bcast)                                                                                    \
    CALL(Reduce)                                                                                   \
    CALL(AlltoAll)                                                                                 \
    CALL(Gather)                                                                                   \
    CALL(Scatter)                                                                                  \
    CALL(Send)                                                                                     \
    CALL(Recv)
#define POINTER(name) static __typeof__(nccl##name) *call_##name;
CALLS(POINTER)
static void open_nccl(void)
{
    void *library = dlopen("libnccl.so.2", RTLD_NOW);

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define FIND(name) *(void **)&call_##name = dlsym(library, "nccl" #name);
    CALLS(FIND)
}
#define NCCL(name) call_##name
#else
static void open_nccl(void)
{
}
#define NCCL(name) nccl##name
#endif

enum { COUNT = 1 << 20, KERNEL_NS = 2000000, SLOW_MS = 20 };
#define FLOAT32 ((ncclDataType_t)7)
#define SUM     ((ncclRedOp_t)0)

static int number(const char *variable, int otherwise)
{
    const char *value = getenv(variable);

    return value ? atoi(value) : otherwise;
}

static void sleep_ms(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

static ncclUniqueId agree(int rank)
{
    const char *path = getenv("GV_RANKS_ID");
    char temporary[4096];
    ncclUniqueId id = {{0}};
    FILE *file = NULL;

    if (rank == 0) {
        CHECK(NCCL(GetUniqueId)(&id));
        if (!path)
            return id;
        snprintf(temporary, sizeof(temporary), "%s.new", path);
        file = fopen(temporary, "w");
        CHECK(!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) ||
              rename(temporary, path));
        return id;
    }
    for (int i = 0; path && i < 1000 && !(file = fopen(path, "r")); i++)
        sleep_ms(10);
    CHECK(!file || fread(&id, sizeof(id), 1, file) != 1);
    fclose(file);
    return id;
}

static void load_more(void)
{
    CUmodule module;

    CHECK(cuModuleLoadData(&module, GV_PTX_HEAD GV_PTX_EMPTY_AS("late")));
}

/* Every call, and every way to make it. */
static void tour(ncclComm_t comm, int rank, int size, CUstream stream)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    CUstream captured;
    CUgraph graph;
    CUgraphExec exec;
    ncclComm_t half;
    void *memory, *handle;

    CHECK(NCCL(MemAlloc)(&memory, 2 * COUNT * sizeof(float)));
    CHECK(NCCL(CommRegister)(comm, memory, COUNT, &handle));
    CHECK(NCCL(AllGather)(memory, memory, 100, FLOAT32, comm, stream));
    CHECK(NCCL(ReduceScatter)(memory, memory, 200, FLOAT32, SUM, comm, stream));
    CHECK(NCCL(Broadcast)(memory, memory, 300, FLOAT32, 0, comm, stream));
    CHECK(NCCL(Bcast)(memory, 400, FLOAT32, 0, comm, stream));
    CHECK(NCCL(Reduce)(memory, memory, 500, FLOAT32, SUM, size - 1, comm, stream));
    CHECK(NCCL(AlltoAll)(memory, memory, 600, FLOAT32, comm, stream));
    CHECK(NCCL(Gather)(memory, memory, 700, FLOAT32, 0, comm, stream));
    CHECK(NCCL(Scatter)(memory, memory, 800, FLOAT32, 0, comm, stream));
    CHECK(NCCL(GroupStart)());
    CHECK(NCCL(Send)(memory, 900, FLOAT32, next, comm, stream));
    CHECK(NCCL(Recv)(memory, 900, FLOAT32, last, comm, stream));
    CHECK(NCCL(GroupStart)());
    CHECK(NCCL(AllReduce)(memory, memory, 1000, FLOAT32, SUM, comm, stream));
    CHECK(NCCL(GroupEnd)());
    CHECK(NCCL(GroupEnd)());
    CHECK(cuStreamSynchronize(stream));

    CHECK(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(NCCL(AllReduce)(memory, memory, 1100, FLOAT32, SUM, comm, captured));
    CHECK(cuStreamEndCapture(captured, &graph));
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    /* NCCL 2.28 waits in ncclCommFinalize until no graph has its collectives. */
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));

    CHECK(NCCL(CommSplit)(comm, rank % 2, rank, &half, NULL));
    CHECK(NCCL(AllReduce)(memory, memory, 1200, FLOAT32, SUM, half, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(NCCL(CommAbort)(half));
    CHECK(NCCL(CommDeregister)(comm, handle));
    CHECK(NCCL(MemFree)(memory));
    CHECK(NCCL(CommFinalize)(comm));
}

static void results(CUstream stream)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t alone;

    config.blocking = 0;
    CHECK(NCCL(GetUniqueId)(&id));
    CHECK(NCCL(CommInitRankConfig)(&alone, 1, id, 0, &config) != ncclInProgress);
    CHECK(NCCL(AllReduce)(NULL, NULL, 0, FLOAT32, SUM, NULL, stream) != ncclInvalidArgument);
    CHECK(NCCL(CommAbort)(alone));
}

int main(int argc, char **argv)
{
    int rank = number("RANK", 0), size = number("WORLD_SIZE", 1);
    int steps = argc > 1 ? atoi(argv[1]) : 10, slow = -1, late = -1, late_ms = 100;
    uint64_t spin_ns = KERNEL_NS;
    void *parameters[] = {&spin_ns};
    bool tours = false, wants_results = false;
    CUdevice device;
    int devices;
    CUcontext context;
    CUmodule module;
    CUfunction spin;
    CUstream stream;
    CUdeviceptr memory;
    ncclUniqueId id;
    ncclComm_t comm;

    for (int i = 2; i < argc; i++) {
        sscanf(argv[i], "slow=%d", &slow);
        sscanf(argv[i], "late=%d", &late);
        sscanf(argv[i], "late_ms=%d", &late_ms);
        tours |= strcmp(argv[i], "tour") == 0;
        wants_results |= strcmp(argv[i], "results") == 0;
    }
    open_nccl();
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&devices));
    CHECK(cuDeviceGet(&device, number("LOCAL_RANK", 0) % devices));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, GV_PTX_HEAD GV_PTX_SPIN_AS("spin")));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&memory, COUNT * sizeof(float)));
    id = agree(rank);
    CHECK(tours ? NCCL(CommInitRankScalable)(&comm, size, rank, 1, &id, NULL)
                : NCCL(CommInitRank)(&comm, size, id, rank));
    for (int step = 0; step < steps; step++) {
        bool is_late = late >= 0 && step == steps / 2;

        if (rank == slow)
            sleep_ms(SLOW_MS);
        if (is_late && rank != late)
            sleep_ms(late_ms);
        CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
        CHECK(NCCL(AllReduce)((void *)(uintptr_t)memory, (void *)(uintptr_t)memory, COUNT, FLOAT32,
                              SUM, comm, stream));
        if (is_late && rank == late) {
            sleep_ms(5);
            load_more();
        }
        CHECK(cuStreamSynchronize(stream));
    }
    if (tours)
        tour(comm, rank, size, stream);
    if (wants_results)
        results(stream);
    CHECK(NCCL(CommDestroy)(comm));
    printf("rank %d of %d: %d steps\n", rank, size, steps);
    return 0;
}
