/*
 * The code that nvcc puts into a program: registered before main, loaded as a library when one of
 * its functions or variables is first used.
 */
#include "tests/sim/cudart/cudart.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Called by compiled code; no public header declares these. */
GV_RT_EXPORT void **__cudaRegisterFatBinary(void *image);
GV_RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
GV_RT_EXPORT void __cudaUnregisterFatBinary(void **handle);
GV_RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                         const char *name, int limit, uint3 *tid, uint3 *bid,
                                         dim3 *block, dim3 *grid, int *warp);
GV_RT_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                                    int external, size_t size, int constant, int global);
GV_RT_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device,
                                           const char *name, int external, size_t size,
                                           int constant, int global);
GV_RT_EXPORT char __cudaInitModule(void **handle);
GV_RT_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                      struct CUstream_st *stream);
GV_RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
                                                    void *stream);
GV_RT_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry);

struct image {
    const void *data;
    CUlibrary library;
    struct image *next;
};

struct symbol {
    const void *host;
    const char *name;
    struct image *image;
    CUkernel kernel;
    bool variable;
    struct symbol *next; /* of the bucket */
};

#define BUCKETS 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image *images;
static struct symbol *buckets[BUCKETS];

/* A child forked while another thread registers something can register too. */
static void hold(void)
{
    pthread_mutex_lock(&lock);
}

static void release(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void loaded(void)
{
    if (pthread_atfork(hold, release, release))
        fputs("gpuverify simulator: pthread_atfork failed\n", stderr);
}

static _Thread_local struct {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
} configuration;

static struct symbol **bucket_of(const void *host)
{
    return &buckets[((uintptr_t)host >> 4) % BUCKETS];
}

void **__cudaRegisterFatBinary(void *data)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    image->data = data;
    pthread_mutex_lock(&lock);
    image->next = images;
    images = image;
    pthread_mutex_unlock(&lock);
    return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct image *image = (struct image *)handle;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct symbol **at = &buckets[i]; *at;) {
            struct symbol *symbol = *at;
            if (symbol->image == image) {
                *at = symbol->next;
                free(symbol);
            } else {
                at = &symbol->next;
            }
        }
    }
    struct image **at = &images;
    while (*at && *at != image)
        at = &(*at)->next;
    if (*at)
        *at = image->next;
    pthread_mutex_unlock(&lock);
    free(image); /* the driver may already be gone; the library stays */
}

static void add(void **handle, const void *host, const char *name, bool variable)
{
    struct symbol *symbol = calloc(1, sizeof *symbol);
    if (!symbol)
        return;
    *symbol = (struct symbol){
        .host = host, .name = name, .image = (struct image *)handle, .variable = variable};
    pthread_mutex_lock(&lock);
    symbol->next = *bucket_of(host);
    *bucket_of(host) = symbol;
    pthread_mutex_unlock(&lock);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add(handle, host, name, false);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(handle, host, name, true);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t size, int constant, int global)
{
    (void)device, (void)external, (void)size, (void)constant, (void)global;
    add(handle, host, name, true);
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                         struct CUstream_st *stream)
{
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared_bytes = shared;
    configuration.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared_bytes;
    *(cudaStream_t *)stream = configuration.stream;
    return cudaSuccess;
}

static struct symbol *find(const void *host, bool variable)
{
    struct symbol *symbol = *bucket_of(host);
    while (symbol && (symbol->host != host || symbol->variable != variable))
        symbol = symbol->next;
    return symbol;
}

/* Called with the lock held. */
static cudaError_t load(struct image *image)
{
    if (image->library)
        return cudaSuccess;
    return gv_rt_result(
        DRIVER(cuLibraryLoadData)(&image->library, image->data, NULL, NULL, 0, NULL, NULL, 0));
}

cudaError_t gv_rt_kernel(const void *function, CUkernel *kernel)
{
    cudaError_t error = cudaSuccess;
    if (!function)
        return cudaErrorInvalidDeviceFunction;
    pthread_mutex_lock(&lock);
    struct symbol *symbol = find(function, false);
    if (symbol && !symbol->kernel) {
        error = load(symbol->image);
        if (!error)
            error = gv_rt_result(
                DRIVER(cuLibraryGetKernel)(&symbol->kernel, symbol->image->library, symbol->name));
    }
    *kernel = symbol ? symbol->kernel : (CUkernel)function;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *entry)
{
    GV_RT_TRY(gv_rt_start());
    return gv_rt_kernel(entry, (CUkernel *)kernel);
}
