/*
 * reopen LIBRARY SYMBOL ROUNDS: opens a plug-in that uses CUDA, calls it with 3, closes it, and
 * again. The program itself knows nothing of CUDA, so the driver may come and go with the plug-in.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[3]) : 1;

    if (argc < 3)
        return 2;
    for (int i = 0; i < rounds; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*work)(unsigned);

        if (!library) {
            printf("reopen: %s\n", dlerror());
            return 1;
        }
        *(void **)&work = dlsym(library, argv[2]);
        if (!work)
            return 3;
        printf("round %d: %d\n", i, work(3));
        fflush(stdout);
        dlclose(library);
    }
    return 0;
}
