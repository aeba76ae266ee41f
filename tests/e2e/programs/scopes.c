/*
 * Look-up scopes: names that a library does not have, a driver opened for one caller, and a library
 * with a call of the driver's name that nobody else should find.
 *
 *    scopes misses DRIVER | scopes local DRIVER | scopes impostor IMPOSTOR PLUGIN
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *what, const void *found)
{
    printf("%s: %s\n", what, found ? "found" : "not found");
}

static void *open_or_die(const char *path, int flags)
{
    void *handle = dlopen(path, RTLD_NOW | flags);

    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(92);
    }
    return handle;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";

    if (strcmp(mode, "misses") == 0) {
        open_or_die(argv[2], RTLD_GLOBAL);
        say("in libm", dlsym(open_or_die("libm.so.6", RTLD_LOCAL), "cuInit"));
        printf("%s\n", strstr(dlerror(), "libm.so.6") ? "libm is blamed" : "another is blamed");
        say("anywhere", dlsym(RTLD_DEFAULT, "cuInit"));
    } else if (strcmp(mode, "local") == 0) {
        void *driver = open_or_die(argv[2], RTLD_LOCAL);

        say("anywhere", dlsym(RTLD_DEFAULT, "cuInit"));
        say("behind us", dlsym(RTLD_NEXT, "cuInit"));
        say("in the driver", dlsym(driver, "cuInit"));
    } else if (strcmp(mode, "impostor") == 0) {
        int (*use)(void);

        open_or_die(argv[2], RTLD_LOCAL);
        *(void **)&use = dlsym(open_or_die(argv[3], RTLD_LOCAL), "free_nothing");
        printf("cuMemFree(0) says %d\n", use());
    }
    return 0;
}
