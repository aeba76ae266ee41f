#include "report/probe_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define GV_PROBE_QUOTED(text) #text
#define GV_PROBE_TEXT(text)   GV_PROBE_QUOTED(text)

struct gv_probe_driver gv_probe_cuda;

static int gv_probe_not_found(void)
{
    return CUDA_ERROR_NOT_FOUND;
}

static void *gv_probe_find(void *library, const char *symbol)
{
    void *found = library ? dlsym(library, symbol) : NULL;
    int (*missing)(void) = gv_probe_not_found;

    if (!found)
        memcpy(&found, &missing, sizeof(found));
    return found;
}

static void *gv_probe_open_runtime(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                        "libcudart.so"};
    void *library = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

int gv_probe_driver_open(int *has_runtime)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *runtime, *found;

    if (!driver)
        return -ENOENT;
    runtime = gv_probe_open_runtime();
    *has_runtime = runtime != NULL;
#define GV_PROBE_FIND(library, symbol)                                                             \
    found = gv_probe_find(library, GV_PROBE_TEXT(symbol));                                         \
    memcpy(&gv_probe_cuda.symbol, &found, sizeof(found));
#define GV_PROBE_DRIVER(call)                GV_PROBE_FIND(driver, call)
#define GV_PROBE_BY_HAND(symbol, parameters) GV_PROBE_FIND(driver, symbol)
#define GV_PROBE_RUNTIME(symbol, parameters) GV_PROBE_FIND(runtime, symbol)
#include "report/probe_entry_points.def"
    return 0;
}
