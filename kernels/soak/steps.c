/* Steps of a thread of soak: GPU work, memory, streams, events. */
#include "kernels/soak/soak.h"

#include "kernels/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#define POLLS_MAX 400

CUstream soak_some_stream(struct soak_thread *thread)
{
    uint32_t which = soak_random(thread, 8);
    CUstream own = thread->streams[soak_random(thread, SOAK_OWN)];

    if (which < SOAK_SHARED)
        return soak.shared[which];
    if (which == SOAK_SHARED)
        return NULL;
    return own ? own : thread->home;
}

void soak_step_launches(struct soak_thread *thread)
{
    CUstream stream = soak_some_stream(thread);
    const struct soak_module *module = &thread->modules[soak_random(thread, SOAK_MODULES)];
    uint32_t count = 1 + soak_random(thread, 32);
    uint32_t value = 1, none = soak_random(thread, 2);
    void *parameters[] = {&thread->scratch, &value};

    for (uint32_t i = 0; i < count; i++)
        if (module->kernel && none)
            soak_digest(thread, soak_launch(module->kernel, module->number, stream, NULL));
        else if (i % 3)
            soak_digest(thread, soak_launch(soak.kernels[SOAK_EMPTY], SOAK_EMPTY, stream, NULL));
        else
            soak_digest(thread,
                        soak_launch(soak.kernels[SOAK_FILL], SOAK_FILL, stream, parameters));
}

/* Copies there and back, and compares. */
void soak_step_copies(struct soak_thread *thread)
{
    size_t bytes = 16 + soak_random(thread, SOAK_BYTES_MAX / 2 - 16);
    unsigned char *host = soak_random(thread, 2) ? thread->pinned : thread->pageable;
    unsigned char *back = host + SOAK_BYTES_MAX / 2;
    CUdeviceptr half = thread->device + SOAK_BYTES_MAX / 2;
    bool waits = soak_random(thread, 2);

    memset(host, (int)soak_random(thread, 256), bytes);
    memset(back, 0, bytes);
    soak_note(SOAK_RUNS | SOAK_BYTES, bytes);
    if (waits)
        TOLD(thread, cuMemcpyHtoD_v2, thread->device, host, bytes);
    else
        TOLD(thread, cuMemcpyHtoDAsync_v2, thread->device, host, bytes, thread->home);
    if (!waits && soak_random(thread, 2)) {
        soak_note(SOAK_RUNS | SOAK_BYTES, bytes);
        TOLD(thread, cuMemcpyDtoDAsync_v2, half, thread->device, bytes, thread->home);
    } else {
        half = thread->device;
    }
    soak_note(SOAK_RUNS | SOAK_BYTES, bytes);
    if (waits) {
        TOLD(thread, cuMemcpyDtoH_v2, back, half, bytes);
    } else {
        TOLD(thread, cuMemcpyDtoHAsync_v2, back, half, bytes, thread->home);
        TOLD(thread, cuStreamSynchronize, thread->home);
    }
    soak_digest(thread, !memcmp(host, back, bytes));
}

void soak_step_sets(struct soak_thread *thread)
{
    size_t words = 1 + soak_random(thread, 1000);

    soak_note(SOAK_RUNS | SOAK_BYTES, words * 4);
    TOLD(thread, cuMemsetD32_v2, thread->scratch, 7, words);
    soak_note(SOAK_RUNS | SOAK_BYTES, words);
    TOLD(thread, cuMemsetD8Async, thread->scratch, 9, words, thread->home);
}

void soak_step_events(struct soak_thread *thread)
{
    CUevent *event = &thread->events[soak_random(thread, SOAK_OWN)];
    CUstream stream = soak_some_stream(thread);

    if (!*event) {
        TOLD(thread, cuEventCreate, event, soak_random(thread, 2) ? 0 : CU_EVENT_DISABLE_TIMING);
        return;
    }
    TOLD(thread, cuEventRecord, *event, stream);
    switch (soak_random(thread, 4)) {
    case 0:
        TOLD(thread, cuStreamWaitEvent, soak_some_stream(thread), *event, 0);
        break;
    case 1:
        DO(cuEventQuery, *event);
        break;
    case 2:
        TOLD(thread, cuEventSynchronize, *event);
        break;
    default:
        TOLD(thread, cuEventDestroy_v2, *event);
        *event = NULL;
        break;
    }
}

/* Polls until a kernel has ended, or for long enough: one stream, two in turn, an event. */
void soak_step_polls(struct soak_thread *thread)
{
    uint64_t ns = 20000 + soak_random(thread, 300000);
    CUstream other = soak.shared[soak_random(thread, SOAK_SHARED)];
    uint32_t how = soak_random(thread, 3);
    int busy = CUDA_ERROR_NOT_READY;

    soak_digest(thread, soak_spin(thread->home, ns));
    if (how == 2)
        soak_digest(thread, soak_spin(other, ns));
    for (int i = 0; busy == CUDA_ERROR_NOT_READY && i < POLLS_MAX; i++) {
        soak_slow_down();
        busy = DO(cuStreamQuery, thread->home);
        if (how == 1)
            DO(cuEventQuery, soak.always);
        if (how == 2)
            DO(cuStreamQuery, other);
    }
}

void soak_step_streams(struct soak_thread *thread)
{
    CUstream *stream = &thread->streams[soak_random(thread, SOAK_OWN)];

    if (*stream) {
        TOLD(thread, cuStreamDestroy_v2, *stream);
        *stream = NULL;
    } else {
        TOLD(thread, cuStreamCreate, stream,
             soak_random(thread, 2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    }
}

void soak_step_memory(struct soak_thread *thread)
{
    size_t bytes = 1 + soak_random(thread, 1u << 20);
    CUdeviceptr device = 0;
    void *host = NULL;

    switch (soak_random(thread, 3)) {
    case 0:
        soak_note(SOAK_BYTES, bytes);
        TOLD(thread, cuMemAlloc_v2, &device, bytes);
        TOLD(thread, cuMemFree_v2, device);
        break;
    case 1:
        soak_note(SOAK_BYTES, bytes);
        TOLD(thread, cuMemAllocHost_v2, &host, bytes);
        TOLD(thread, cuMemFreeHost, host);
        break;
    default:
        soak_note(SOAK_BYTES, bytes);
        TOLD(thread, cuMemAllocAsync, &device, bytes, thread->home);
        TOLD(thread, cuMemFreeAsync, device, thread->home);
        break;
    }
}

void soak_step_context(struct soak_thread *thread)
{
    CUcontext context = NULL;
    size_t bytes = 0;

    switch (soak_random(thread, 4)) {
    case 0:
        TOLD(thread, cuCtxPushCurrent_v2, soak.context);
        TOLD(thread, cuCtxPopCurrent_v2, &context);
        break;
    case 1:
        TOLD(thread, cuCtxSetCurrent, soak.context);
        break;
    case 2:
        TOLD(thread, cuCtxGetLimit, &bytes, CU_LIMIT_STACK_SIZE);
        break;
    default: /* not for the context: that fails while any thread captures, and breaks the capture */
        TOLD(thread, cuStreamSynchronize, thread->home);
        break;
    }
}

static void CUDA_CB count_up(void *counter)
{
    atomic_fetch_add((_Atomic unsigned *)counter, 1);
}

void soak_step_host_function(struct soak_thread *thread)
{
    _Atomic unsigned counter = 0;
    uint32_t count = 1 + soak_random(thread, 3);

    for (uint32_t i = 0; i < count; i++)
        TOLD(thread, cuLaunchHostFunc, thread->home, count_up, &counter);
    TOLD(thread, cuStreamSynchronize, thread->home);
    soak_digest(thread, counter);
}

void soak_step_failures(struct soak_thread *thread)
{
    CUdeviceptr device = 0;
    CUfunction function = NULL;
    CUmodule module = NULL;

    switch (soak_random(thread, 5)) {
    case 0:
        TOLD(thread, cuMemAlloc_v2, &device, 0);
        break;
    case 1:
        TOLD(thread, cuModuleGetFunction, &function, soak.module, "no_such_kernel");
        break;
    case 2:
        soak_note(SOAK_LOADS, 0);
        TOLD(thread, cuModuleLoadData, &module, ".version nonsense\n");
        break;
    case 3:
        TOLD(thread, cuLaunchKernel, soak.kernels[SOAK_EMPTY], 1, 1, 1, 2048, 1, 1, 0, thread->home,
             NULL, NULL);
        break;
    default:
        TOLD(thread, cuMemFreeHost, &device);
        break;
    }
}

void soak_step_name(struct soak_thread *thread)
{
    char name[16];

    snprintf(name, sizeof name, "soak %u", soak_random(thread, 1000));
    prctl(PR_SET_NAME, name);
}
