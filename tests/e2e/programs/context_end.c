/* Destroys a context, and gets its kernels' handles back for other kernels
 * (GV_SIM_REUSE_HANDLES). */
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

/* A library and its kernels outlive the context; only their names are asked for again. */
static CUkernel load(const char *image, const char *name, CUlibrary *library)
{
    CUkernel kernel;

    OK(cuLibraryLoadData(library, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, *library, name));
    return kernel;
}

static void end_another_context(CUdevice device)
{
    CUcontext other;

    OK(cuCtxCreate(&other, NULL, 0, device));
    OK(cuCtxDestroy(other));
}

static int with_libraries(CUdevice device)
{
    CUfunction first, second;
    CUlibrary libraries[2];
    CUkernel kernels[2];
    CUcontext context;

    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    kernels[0] = load(PTX("first_kernel"), "first_kernel", &libraries[0]);
    kernels[1] = load(PTX("other_kernel"), "other_kernel", &libraries[1]);
    OK(cuKernelGetFunction(&first, kernels[0]));
    end_another_context(device);
    OK(cuLaunchKernel(first, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    OK(cuLibraryUnload(libraries[0]));
    OK(cuKernelGetFunction(&second, kernels[1]));
    OK(cuLaunchKernel(second, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    printf("the handle came back: %d\n", first == second);
    return 0;
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
    if (argc > 1 && strcmp(argv[1], "libraries") == 0)
        return with_libraries(device);
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
