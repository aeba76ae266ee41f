/* A libcuda whose wait spins in functions without a name, as the real one's does by default. */
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

int cuInit(unsigned flags);
int cuCtxSynchronize(void);
int cublasSgemm_v2(void);
int cuModuleLoadData(void **module, const void *image);

static volatile unsigned long spins;

static __attribute__((noinline)) int spin(int depth)
{
    struct timespec now;
    int result = depth > 0 ? spin(depth - 1) : 0;

    while (depth == 0)
        spins += (unsigned long)clock_gettime(CLOCK_MONOTONIC, &now);
    spins++;
    return result + 1;
}

EXPORT int cuInit(unsigned flags)
{
    return (int)flags;
}

EXPORT int cuCtxSynchronize(void)
{
    int result = spin(5);

    spins++;
    return result;
}

/* One call of a library is inside another. */
EXPORT int cublasSgemm_v2(void)
{
    int result = cuCtxSynchronize();

    spins++;
    return result;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
    int result = spin(5);

    *module = image ? module : 0;
    return result;
}
