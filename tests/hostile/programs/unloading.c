/*
 * `unloading FOLDER ONE OTHER TIMES HOW`: loads one of two libraries in turn, calls through it, and
 * unloads it. HOW `keep`: they stay on the disk. `replace`: each gets the other's contents while it
 * is mapped. `delete`, `cut`: it is deleted, or cut to nothing. `wait`: before one is replaced by
 * the other at its address, the program waits for a line.
 */
#include "tests/e2e/programs/e2e.h"

#include <string.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

static struct e2e_gpu gpu;

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 20];
    char other[4096];
    FILE *file = fopen(from, "rb");
    size_t count;

    REQUIRE(file);
    count = fread(bytes, 1, sizeof bytes, file);
    REQUIRE(count > 0 && count < sizeof bytes);
    fclose(file);
    snprintf(other, sizeof other, "%s.new", to);
    file = fopen(other, "wb");
    REQUIRE(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
    OK(rename(other, to));
}

static void call_through(void *library)
{
    void (*plugin)(CUresult * result) = (void (*)(CUresult *))dlsym(library, "plugin");
    CUresult result = CUDA_ERROR_UNKNOWN;

    REQUIRE(plugin);
    plugin(&result);
    OK(result);
}

static void *load(char **arguments, int which)
{
    char path[4096];
    void *library;

    snprintf(path, sizeof path, "%s/plugin_%d.so", arguments[1], which);
    copy(arguments[2 + which], path);
    library = dlopen(path, RTLD_NOW);
    REQUIRE(library);
    return library;
}

/* The entry of the first library is free when the third is listed; its address is not. */
static void wait_between(char **arguments)
{
    void *first = load(arguments, 0), *second = load(arguments, 1), *place, *third;

    call_through(first);
    call_through(second);
    OK(dlclose(first));
    for (int i = 0; i < 64; i++)
        REQUIRE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    call_through(second);
    puts("waiting");
    fflush(stdout);
    getchar();
    place = dlsym(second, "plugin");
    OK(dlclose(second));
    third = load(arguments, 0);
    puts(dlsym(third, "plugin") == place ? "same place" : "other place");
    call_through(third);
}

int main(int count, char **arguments)
{
    char path[4096];

    REQUIRE(count == 6);
    const char *how = arguments[5];
    int times = atoi(arguments[4]);

    e2e_open(&gpu);
    if (!strcmp(how, "wait")) {
        wait_between(arguments);
        return 0;
    }
    for (int i = 0; i < times; i++) {
        void *library = load(arguments, i % 2);

        snprintf(path, sizeof path, "%s/plugin_%d.so", arguments[1], i % 2);
        if (!strcmp(how, "replace"))
            copy(arguments[2 + (i + 1) % 2], path);
        if (!strcmp(how, "delete"))
            OK(unlink(path));
        call_through(library);
        if (!strcmp(how, "cut")) { /* from here on, nothing of it can be used */
            OK(truncate(path, 0));
            puts("cut");
            fflush(stdout);
            _exit(0);
        }
        OK(dlclose(library));
    }
    printf("%d times\n", times);
    return 0;
}
