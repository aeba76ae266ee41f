/* Started by gpuverify doctor, with the library: only starts CUDA. */
#include "report/commands/commands.h"

#include <dlfcn.h>
#include <stdio.h>

typedef int gv_trial_init(unsigned int);
typedef int gv_trial_get(int *);
typedef int gv_trial_retain(void **, int);
typedef int gv_trial_take(void *);

/* Makes a context, so that the driver loads what it loads for every program. */
static void trial_context(void *driver)
{
    gv_trial_retain *retain = (gv_trial_retain *)dlsym(driver, "cuDevicePrimaryCtxRetain");
    gv_trial_take *set = (gv_trial_take *)dlsym(driver, "cuCtxSetCurrent");
    void *context = NULL;

    if (retain && set && retain(&context, 0) == 0)
        set(context);
}

int gv_command_trial(const struct gv_arguments *arguments)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int result, version = 0, devices = 0;

    (void)arguments;
    if (!driver) {
        printf("missing %s\n", dlerror());
        return GV_EXIT_FINDING;
    }
    gv_trial_init *init = (gv_trial_init *)dlsym(driver, "cuInit");
    gv_trial_get *get_version = (gv_trial_get *)dlsym(driver, "cuDriverGetVersion");
    gv_trial_get *get_devices = (gv_trial_get *)dlsym(driver, "cuDeviceGetCount");
    if (!init || !get_version || !get_devices) {
        printf("missing entry points of libcuda.so.1\n");
        return GV_EXIT_FINDING;
    }
    result = init(0);
    if (result == 0) {
        get_version(&version);
        get_devices(&devices);
    }
    printf("result %d %d %d\n", result, version, devices);
    fflush(stdout);
    if (result == 0 && devices > 0)
        trial_context(driver);
    return GV_EXIT_FINE;
}
