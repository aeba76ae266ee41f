/*
 * interrupted first|names: a signal handler makes a CUDA call repeatedly while the program makes
 * its first one (and then none for a while), or while it names kernels. Prints the calls of the
 * program and of the handler, and how many of the handler's came during the first call.
 */
#include <cuda.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define NAMED         200000
#define INTERRUPTIONS 50

static CUresult (*init)(unsigned int);
static CUresult (*memory_free)(CUdeviceptr);
static CUresult (*get_function)(CUfunction *, CUmodule, const char *);
static CUmodule module = (CUmodule)0x100;
static bool names;
static atomic_long handled;

static void interrupt(int number)
{
    CUfunction function;

    (void)number;
    if (names)
        get_function(&function, module, "handled");
    else
        memory_free(0);
    atomic_fetch_add(&handled, 1);
}

/* The first signal comes with the first call. */
static void every_millisecond(long first_us)
{
    struct itimerval often = {{0, first_us ? 1000 : 0}, {0, first_us}};
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUfunction function;
    int made = 1;
    long (*interruptions)(void);

    if (argc != 2 || !driver)
        return 2;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&memory_free = dlsym(driver, "cuMemFree_v2");
    *(void **)&get_function = dlsym(driver, "cuModuleGetFunction");
    *(void **)&interruptions = dlsym(driver, "bare_driver_interruptions");
    names = strcmp(argv[1], "names") == 0;
    if (!init || !memory_free || !get_function || !interruptions)
        return 3;
    every_millisecond(names ? 1000 : 50);
    init(0);
    for (; names && (made < NAMED || atomic_load(&handled) < INTERRUPTIONS); made++)
        get_function(&function, module, "named");
    while (atomic_load(&handled) < INTERRUPTIONS)
        ;
    every_millisecond(0);
    printf("%d %ld %ld\n", made, atomic_load(&handled), interruptions());
    return 0;
}
