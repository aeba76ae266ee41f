/*
 * no_driver NAMES: looks for CUDA on a machine without it, in all usual ways, and prints what it
 * finds: it must be nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *names = argc == 2 ? fopen(argv[1], "r") : NULL;
    void *self = dlopen(NULL, RTLD_NOW);
    unsigned found = 0, asked = 0;
    char name[256];

    if (!names || !self)
        return 2;
    printf("libcuda.so.1: %s\n", dlopen("libcuda.so.1", RTLD_NOW) ? "there" : "missing");
    while (fgets(name, sizeof(name), names)) {
        name[strcspn(name, "\n")] = 0;
        asked++;
        if (dlsym(RTLD_DEFAULT, name) || dlsym(self, name) || dlsym(RTLD_NEXT, name)) {
            printf("found %s\n", name);
            found++;
        }
    }
    printf("asked for %u names, found %u\n", asked, found);
    fclose(names);
    return 0;
}
