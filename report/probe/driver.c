/* Finds the driver and the runtime. */
#include "report/probe/stage.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GV_PROBE_VERSION_FILE "/sys/module/nvidia/version"

static void *probe_driver, *probe_runtime;

static int probe_not_found(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

static void *probe_find(void *library, const char *symbol)
{
    void *found = library ? dlsym(library, symbol) : NULL;

    return found ? found : (void *)probe_not_found;
}

void *gv_probe_find(const char *symbol)
{
    return probe_find(strncmp(symbol, "cuda", 4) == 0 ? probe_runtime : probe_driver, symbol);
}

/* Whether this runtime works with the driver: a newer major version refuses. */
static bool probe_runtime_suits(void *driver, void *runtime)
{
    int (*driver_version)(int *) = (int (*)(int *))probe_find(driver, "cuDriverGetVersion");
    int (*runtime_version)(int *) = (int (*)(int *))probe_find(runtime, "cudaRuntimeGetVersion");
    int driver_is = 0, runtime_is = 0;

    return driver_version(&driver_is) == 0 && runtime_version(&runtime_is) == 0 &&
           runtime_is / 1000 <= driver_is / 1000;
}

static void *probe_open_runtime(void *driver)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                        "libcudart.so"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *runtime = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (runtime && probe_runtime_suits(driver, runtime))
            return runtime;
        if (runtime)
            dlclose(runtime);
    }
    return NULL;
}

void gv_probe_driver_version(char *out, size_t size)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*begin)(void) = (int (*)(void))probe_find(library, "nvmlInit_v2");
    int (*ask)(char *, unsigned int) =
        (int (*)(char *, unsigned int))probe_find(library, "nvmlSystemGetDriverVersion");
    FILE *file;

    out[0] = '\0';
    if (begin() == 0 && ask(out, (unsigned int)size) == 0)
        return;
    file = fopen(GV_PROBE_VERSION_FILE, "re");
    if (!file)
        return;
    if (fgets(out, (int)size, file))
        out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

int gv_probe_driver_open(void)
{
    probe_driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (probe_driver)
        probe_runtime = probe_open_runtime(probe_driver);
    return probe_driver ? 0 : -ENOENT;
}
