/*
 * lookalikes LIBRARY: looks up the names of lookalike.c in it while the driver is in use, and
 * prints whose they are and what they return.
 */
#include "e2e.h"

#include <dlfcn.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const char *const names[] = {"cudnnCreate", "cublasCreate_v2", "cuFoo",      "cudaFoo",
                                        "cuInit",      "cuMemAlloc",      "cudaMalloc", "cuda"};
    struct e2e_gpu gpu;
    void *library;

    REQUIRE(argc == 2);
    e2e_open(&gpu);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *handle = NULL;
        int (*entry)(void *, unsigned long);
        Dl_info info;

        *(void **)&entry = dlsym(library, names[i]);
        REQUIRE(entry && dladdr(*(void **)&entry, &info));
        printf("%s: %s, %d\n", names[i], strrchr(info.dli_fname, '/') + 1, entry(&handle, 0));
    }
    printf("cuFoo anywhere: %s\n", dlsym(RTLD_DEFAULT, "cuFoo") ? "yes" : "no");
    e2e_tick(&gpu, 1);
    OK(cuCtxSynchronize());
    return 0;
}
