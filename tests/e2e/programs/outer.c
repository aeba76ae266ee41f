/* A library that opens another one by its bare name, found through its RUNPATH. */
#include <dlfcn.h>
#include <stdio.h>

__attribute__((visibility("default"))) int outer_work(unsigned launches);

int outer_work(unsigned launches)
{
    void *library = dlopen("libe2e_inner.so", RTLD_NOW);
    int (*work)(unsigned);

    if (!library) {
        printf("outer: %s\n", dlerror());
        return -1;
    }
    *(void **)&work = dlsym(library, "plugin_work");
    return work ? work(launches) : -2;
}
