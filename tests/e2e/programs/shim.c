/*
 * A library between a program and the driver, as in other tools: counts the calls and passes them
 * to the next definition. It also interposes a libc call.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static unsigned launches, allocations, ids;
static int inside;

static void *find_next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) {
        fprintf(stderr, "shim: nothing after me has %s\n", name);
        abort();
    }
    return found;
}

static void enter(void)
{
    if (++inside > 1) {
        fprintf(stderr, "shim: called by what it called\n");
        abort();
    }
}

EXPORT CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy,
                                       unsigned int gz, unsigned int bx, unsigned int by,
                                       unsigned int bz, unsigned int shared, CUstream stream,
                                       void **parameters, void **extra)
{
    static CUresult (*next)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                            unsigned int, unsigned int, unsigned int, CUstream, void **, void **);
    CUresult result;

    enter();
    if (!next)
        *(void **)&next = find_next("cuLaunchKernel");
    launches++;
    result = next(f, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
    inside--;
    return result;
}

#undef cuMemAlloc
EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *memory, size_t size)
{
    static CUresult (*next)(CUdeviceptr *, size_t);
    CUresult result;

    enter();
    if (!next)
        *(void **)&next = find_next("cuMemAlloc_v2");
    allocations++;
    result = next(memory, size);
    inside--;
    return result;
}

EXPORT int getpagesize(void)
{
    static int (*next)(void);

    if (!next)
        *(void **)&next = find_next("getpagesize");
    ids++;
    return next();
}

__attribute__((destructor)) static void tell(void)
{
    printf("shim: %u launches, %u allocations, %u of the C library's\n", launches, allocations,
           ids);
    fflush(stdout);
}
