/*
 * While one thread pins memory or unpins it, other threads wait, though the GPU is idle: launches,
 * copies, sets, events, streams, allocations, and questions about memory. In another context only
 * allocations wait.
 */
#include "kernels/stalls/stage.h"

#include <pthread.h>

#define PIN_BYTES      (256u << 20)
#define REGISTER_BYTES (1024u << 20)

static struct gv_stage stage;
static void *pinned, *pageable;

static void *host_alloc(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_enter(&stage);
    TIMED("pin", cuMemHostAlloc, (&pinned, PIN_BYTES, 0));
    return NULL;
}

static void *free_host(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_enter(&stage);
    TIMED("unpin", cuMemFreeHost, (pinned));
    return NULL;
}

static void *host_register(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_enter(&stage);
    TIMED("register", cuMemHostRegister, (pageable, REGISTER_BYTES, 0));
    return NULL;
}

static void *host_unregister(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_enter(&stage);
    TIMED("unregister", cuMemHostUnregister, (pageable));
    return NULL;
}

static pthread_t holder;

/* Starts the holder, which is inside its call when this returns; with an idle stage, nobody is in
 * the way. */
static void hold(void *call(void *))
{
    if (pthread_create(&holder, NULL, call, NULL) != 0)
        exit(1);
    if (stage.idle)
        pthread_join(holder, NULL);
    else
        gv_stage_await(&stage, 5000);
}

static void let_go(void)
{
    if (!stage.idle)
        pthread_join(holder, NULL);
}

/* BEHIND(holder, "label", cuCall, (arguments)) */
#define BEHIND(call_in_the_way, label, call, arguments)                                            \
    do {                                                                                           \
        hold(call_in_the_way);                                                                     \
        TIMED(label, call, arguments);                                                             \
        let_go();                                                                                  \
    } while (0)

int main(int argc, char **argv)
{
    struct gv_stage second;
    CUdeviceptr memory, more;
    CUevent event;
    CUstream stream;
    CUmemorytype type;
    void *small;
    char page[4096] = "";
    size_t left, all;

    gv_stage_open(&stage, argc, argv);
    gv_stage_second(&second, &stage);
    CHECK(cuCtxSetCurrent(stage.context));
    pageable = aligned_alloc(4096, REGISTER_BYTES);
    if (!pageable)
        return 1;
    memset(pageable, 1, REGISTER_BYTES);
    CHECK(cuMemAlloc(&memory, 4096));
    CHECK(cuMemAllocHost(&small, 4096));
    CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CHECK(cuMemcpyHtoDAsync(memory, small, 4096, stage.other));
    CHECK(cuMemsetD8Async(memory, 0, 4096, stage.other));
    CHECK(cuMemcpyHtoD(memory, page, 4096));
    CHECK(cuEventRecord(event, stage.other));
    CHECK(cuMemGetInfo(&left, &all));
    CHECK(cuCtxSynchronize());

    BEHIND(host_alloc, "launch", cuLaunchKernel,
           (stage.empty, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    BEHIND(free_host, "launch_unpin", cuLaunchKernel,
           (stage.empty, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    BEHIND(host_register, "launch_register", cuLaunchKernel,
           (stage.empty, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    BEHIND(host_unregister, "launch_unregister", cuLaunchKernel,
           (stage.empty, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    BEHIND(host_alloc, "copy", cuMemcpyHtoDAsync, (memory, small, 4096, stage.other));
    BEHIND(free_host, "set", cuMemsetD8Async, (memory, 0, 4096, stage.other));
    BEHIND(host_alloc, "event", cuEventRecord, (event, stage.other));
    BEHIND(free_host, "sync_copy", cuMemcpyHtoD, (memory, page, 4096));
    BEHIND(host_alloc, "alloc", cuMemAlloc, (&more, 1 << 20));
    BEHIND(free_host, "free", cuMemFree, (more));
    BEHIND(host_alloc, "stream", cuStreamCreate, (&stream, CU_STREAM_NON_BLOCKING));
    BEHIND(free_host, "info", cuMemGetInfo, (&left, &all));
    BEHIND(host_alloc, "pointer", cuPointerGetAttribute,
           (&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    BEHIND(free_host, "pin_too", cuMemHostAlloc, (&small, 65536, 0));

    CHECK(cuCtxSetCurrent(second.context));
    BEHIND(host_alloc, "other_launch", cuLaunchKernel,
           (second.empty, 1, 1, 1, 1, 1, 1, 0, second.other, NULL, NULL));
    BEHIND(free_host, "other_alloc", cuMemAlloc, (&more, 1 << 20));
    CHECK(cuCtxDestroy(second.context));
    CHECK(cuCtxSetCurrent(stage.context));
    CHECK(cuStreamDestroy(stream));
    return gv_stage_close(&stage);
}
