/*
 * embeds_python LIBRARY: opens an interpreter and loads a module in it, twice, then closes it and
 * loads a module without it.
 */
#include "e2e.h"

#include <dlfcn.h>

static struct e2e_gpu gpu;

static void load(void)
{
    CUmodule module;

    OK(cuModuleLoadData(&module, e2e_ptx));
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*run)(void (*)(void));

    REQUIRE(library);
    *(void **)&run = dlsym(library, "fake_python_run");
    REQUIRE(run);
    e2e_open(&gpu);
    run(load);
    run(load);
    REQUIRE(dlclose(library) == 0);
    REQUIRE(!dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD));
    load();
    puts("three loads");
    return 0;
}
