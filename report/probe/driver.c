#include "report/probe/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GV_PROBE_VERSION_FILE "/sys/module/nvidia/version"

#define GV_PROBE_QUOTED(text) #text
#define GV_PROBE_TEXT(text)   GV_PROBE_QUOTED(text)

struct gv_probe_driver gv_probe_cuda;

static int probe_not_found(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

static void *probe_find(void *library, const char *symbol)
{
    void *found = library ? dlsym(library, symbol) : NULL;
    int (*missing)(void) = probe_not_found;

    if (!found)
        memcpy(&found, &missing, sizeof(found));
    return found;
}

/* Whether this runtime works with the driver: a newer major version refuses. */
static bool probe_runtime_suits(void *driver, void *runtime)
{
    int (*driver_version)(int *), (*runtime_version)(int *);
    void *found = probe_find(driver, "cuDriverGetVersion");
    int driver_is = 0, runtime_is = 0;

    memcpy(&driver_version, &found, sizeof(found));
    found = probe_find(runtime, "cudaRuntimeGetVersion");
    memcpy(&runtime_version, &found, sizeof(found));
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
    int (*begin)(void), (*ask)(char *, unsigned int);
    void *found = probe_find(library, "nvmlInit_v2");
    FILE *file;

    out[0] = '\0';
    memcpy(&begin, &found, sizeof(found));
    found = probe_find(library, "nvmlSystemGetDriverVersion");
    memcpy(&ask, &found, sizeof(found));
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
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *runtime, *found;

    if (!driver)
        return -ENOENT;
    runtime = probe_open_runtime(driver);
#define GV_PROBE_FIND(library, symbol)                                                             \
    found = probe_find(library, GV_PROBE_TEXT(symbol));                                            \
    memcpy(&gv_probe_cuda.symbol, &found, sizeof(found));
#define GV_PROBE_DRIVER(call)                GV_PROBE_FIND(driver, call)
#define GV_PROBE_BY_HAND(symbol, parameters) GV_PROBE_FIND(driver, symbol)
#define GV_PROBE_RUNTIME(symbol, parameters) GV_PROBE_FIND(runtime, symbol)
#include "report/probe/entry_points.def"
    return 0;
}
