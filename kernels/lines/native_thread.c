/* A thread of a Python program that has no Python frames, as PyTorch's for the backward pass. */
#include "kernels/lines/truth.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_t thread;
static atomic_bool done;
static CUcontext its_context;
static CUfunction its_kernel;

static void *give_work(void *argument)
{
    CUstream stream;

    (void)argument;
    CHECK(cuCtxSetCurrent(its_context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    while (!done) {
        for (int i = 0; i < 5; i++) {
            SPIN(its_kernel, stream, 40);
            SPIN(its_kernel, stream, 120);
        }
        CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuStreamDestroy(stream));
    return NULL;
}

#define SHARED __attribute__((visibility("default")))

SHARED int gv_native_thread_start(CUcontext context, CUfunction kernel);
int gv_native_thread_start(CUcontext context, CUfunction kernel)
{
    its_context = context;
    its_kernel = kernel;
    return pthread_create(&thread, NULL, give_work, NULL);
}

SHARED void gv_native_thread_end(void);
void gv_native_thread_end(void)
{
    done = true;
    pthread_join(thread, NULL);
    gv_truth_print(__FILE__);
    fflush(stdout);
}
