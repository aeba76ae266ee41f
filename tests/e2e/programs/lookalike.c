/*
 * A library without CUDA, whose names look like CUDA's, or are the same.
 */
#define EXPORT __attribute__((visibility("default")))

EXPORT int cudnnCreate(void **handle);
EXPORT int cublasCreate_v2(void **handle);
EXPORT int cuFoo(void);
EXPORT int cudaFoo(void);
EXPORT int cuInit(unsigned int flags);
EXPORT int cuMemAlloc(void *memory, unsigned long size);
EXPORT int cudaMalloc(void **memory, unsigned long size);
EXPORT int cuda(void);

int cudnnCreate(void **handle)
{
    *handle = 0;
    return 1001;
}

int cublasCreate_v2(void **handle)
{
    *handle = 0;
    return 1002;
}

int cuFoo(void)
{
    return 1003;
}

int cudaFoo(void)
{
    return 1004;
}

int cuInit(unsigned int flags)
{
    (void)flags;
    return 1005;
}

int cuMemAlloc(void *memory, unsigned long size)
{
    (void)memory;
    (void)size;
    return 1006;
}

int cudaMalloc(void **memory, unsigned long size)
{
    (void)memory;
    (void)size;
    return 1007;
}

int cuda(void)
{
    return 1008;
}
