/*
 * images [--kernel NAME | --library | --file | --module | PATH]...: loads each image, as data
 * (--module, the default), as a library or by its file's name. Launches the kernel of the last
 * --kernel, if any. Prints the result, and the duration in ns on stderr.
 */
#include "e2e.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum how { AS_MODULE, AS_LIBRARY, AS_FILE };

static struct e2e_gpu gpu;

static unsigned long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

static void *map(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    void *image;

    REQUIRE(fd >= 0 && !fstat(fd, &status));
    /* One page more, anonymous: text images must end in a zero. */
    image =
        mmap(NULL, (size_t)status.st_size + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(image != MAP_FAILED);
    REQUIRE(mmap(image, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
            image);
    close(fd);
    return image;
}

static void load_library(const char *path, const char *kernel)
{
    CUlibrary library;
    CUkernel found;
    int result = (int)cuLibraryLoadData(&library, map(path), NULL, NULL, 0, NULL, NULL, 0);

    printf("library: %d\n", result);
    if (result || !kernel)
        return;
    OK(cuLibraryGetKernel(&found, library, kernel));
    OK(cuLaunchKernel((CUfunction)found, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void load_module(enum how how, const char *path, const char *kernel)
{
    const void *image = how == AS_FILE ? NULL : map(path);
    unsigned long long begin = now_ns();
    CUmodule module;
    CUfunction found;
    int result =
        how == AS_FILE ? (int)cuModuleLoad(&module, path) : (int)cuModuleLoadData(&module, image);

    fprintf(stderr, "%llu ns\n", now_ns() - begin);
    printf("module: %d\n", result);
    if (result || !kernel)
        return;
    OK(cuModuleGetFunction(&found, module, kernel));
    OK(cuLaunchKernel(found, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
    const char *kernel = NULL;
    enum how how = AS_MODULE;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    OK(cuCtxSetCurrent(gpu.context));
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--kernel"))
            kernel = argv[++i];
        else if (!strcmp(argv[i], "--library"))
            how = AS_LIBRARY;
        else if (!strcmp(argv[i], "--file"))
            how = AS_FILE;
        else if (!strcmp(argv[i], "--module"))
            how = AS_MODULE;
        else if (how == AS_LIBRARY)
            load_library(argv[i], kernel);
        else
            load_module(how, argv[i], kernel);
    }
    OK(cuCtxSynchronize());
    return 0;
}
