/*
 * Two libraries in one process, each with its own libcudart; with an argument (two paths) also
 * calls by dlopen and dlsym in both runtimes. Each runtime has its own last error, which shows
 * which one a call has reached.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void rt12_work(void);
int rt12_last_error(void);
void rt13_work(void);
int rt13_last_error(void);

struct runtime {
    int (*allocate)(void **, size_t);
    int (*release)(void *);
    int (*last_error)(void);
    int (*version)(int *);
};

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found)
        exit(3);
    return found;
}

static struct runtime open_runtime(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct runtime runtime;

    if (!library) {
        printf("%s\n", dlerror());
        exit(2);
    }
    *(void **)&runtime.allocate = find(library, "cudaMalloc");
    *(void **)&runtime.release = find(library, "cudaFree");
    *(void **)&runtime.last_error = find(library, "cudaGetLastError");
    *(void **)&runtime.version = find(library, "cudaRuntimeGetVersion");
    return runtime;
}

static void by_lookup(const char *first_path, const char *second_path)
{
    struct runtime runtimes[2] = {open_runtime(first_path), open_runtime(second_path)};

    for (int i = 0; i < 2; i++) {
        int version = 0;
        void *memory = NULL;
        int allocated = runtimes[i].allocate(&memory, 64);
        int released = runtimes[i].release(memory);

        runtimes[i].version(&version);
        printf("looked up %d: malloc %d, free %d\n", version / 1000, allocated, released);
        printf("bad free %s\n", runtimes[i].release((void *)0x10) ? "fails" : "works");
        printf("errors: %d here", runtimes[i].last_error() != 0);
        printf(", %d there\n", runtimes[1 - i].last_error() != 0);
    }
}

int main(int argc, char **argv)
{
    rt12_work();
    printf("12 has an error: %d, ", rt12_last_error() != 0);
    printf("13 has an error: %d\n", rt13_last_error() != 0);
    rt13_work();
    printf("12 has an error: %d, ", rt12_last_error() != 0);
    printf("13 has an error: %d\n", rt13_last_error() != 0);
    if (argc == 3)
        by_lookup(argv[1], argv[2]);
    return 0;
}
