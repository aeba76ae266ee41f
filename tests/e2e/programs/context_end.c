/* A context goes, and its kernels' handles come back as those of others (GV_SIM_REUSE_HANDLES). */
#include "e2e.h"

#include <string.h>

#define PTX(name)                                                                                  \
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry " name "()\n{\nret;\n}\n"

static CUfunction launch(const char *image, const char *name, int enumerate, CUmodule *module)
{
    CUfunction function;

    OK(cuModuleLoadData(module, image));
    if (enumerate)
        OK(cuModuleEnumerateFunctions(&function, 1, *module));
    else
        OK(cuModuleGetFunction(&function, *module, name));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    return function;
}

int main(int argc, char **argv)
{
    int enumerate = argc > 1 && strcmp(argv[1], "enumerate") == 0;
    CUfunction first, second;
    CUcontext context;
    CUmodule module;
    CUdevice device;

    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuCtxCreate(&context, NULL, 0, device));
    first = launch(PTX("first_kernel"), "first_kernel", enumerate, &module);
    if (enumerate) {
        OK(cuModuleUnload(module));
    } else {
        OK(cuCtxDestroy(context));
        OK(cuCtxCreate(&context, NULL, 0, device));
    }
    second = launch(PTX("other_kernel"), "other_kernel", 0, &module);
    printf("the handle came back: %d\n", first == second);
    return 0;
}
