/*
 * reopen LIBRARY SYMBOL ROUNDS: opens a plug-in that uses CUDA, calls it with 3, closes it, and
 * repeats. The program itself has no CUDA, so the driver may come and go with the plug-in. Its old
 * address range is then blocked, so that it returns at another address.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct range {
    unsigned long low, high;
};

/* The driver's address range; zeros if it is not mapped. */
static struct range find_driver(void)
{
    struct range range = {0, 0};
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];

    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long low, high;

        if (!strstr(line, "libcuda.so") || sscanf(line, "%lx-%lx", &low, &high) != 2)
            continue;
        range.low = range.low ? range.low : low;
        range.high = high;
    }
    if (maps)
        fclose(maps);
    return range;
}

static void occupy(struct range range)
{
    if (range.low && !find_driver().low)
        mmap((void *)range.low, range.high - range.low, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[3]) : 1;

    if (argc < 3)
        return 2;
    for (int i = 0; i < rounds; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        struct range driver;
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
        driver = find_driver();
        dlclose(library);
        occupy(driver);
        fprintf(stderr, "driver was %s\n", find_driver().low ? "kept" : "unloaded");
    }
    return 0;
}
