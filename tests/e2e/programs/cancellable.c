/*
 * A thread that can be cancelled at any instruction makes calls. If it is cancelled in the
 * allocator, it keeps a lock there, so nothing may allocate meanwhile. glibc acts on a signal that
 * is on its way whatever the state is, so the type must be another one.
 */
#include "e2e.h"

#include <pthread.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

#define EXPORT __attribute__((visibility("default")))

static struct e2e_gpu gpu;
static _Thread_local int is_cancellable __attribute__((tls_model("initial-exec")));
static int allocations;

static void look(void)
{
    int type;

    if (!is_cancellable)
        return;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    allocations += type == PTHREAD_CANCEL_ASYNCHRONOUS;
    pthread_setcanceltype(type, &type);
}

EXPORT void *malloc(size_t size)
{
    look();
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    look();
    return __libc_calloc(count, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    look();
    return __libc_realloc(memory, size);
}

static void *work(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &(int){0});
    is_cancellable = 1;
    OK(cuCtxSetCurrent(gpu.context));
    e2e_tick(&gpu, 500);
    OK(cuCtxSynchronize());
    is_cancellable = 0;
    return unused;
}

int main(void)
{
    pthread_t thread;

    e2e_open(&gpu);
    e2e_tick(&gpu, 1);
    for (int i = 0; i < 3; i++) {
        OK(pthread_create(&thread, NULL, work, NULL));
        OK(pthread_join(thread, NULL));
    }
    printf("allocations while it could be cancelled: %d\n", allocations);
    return 0;
}
