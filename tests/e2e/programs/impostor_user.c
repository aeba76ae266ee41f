/* A plug-in that is linked with the driver and calls the driver's function. */
#include <cuda.h>

__attribute__((visibility("default"))) int free_nothing(void);

int free_nothing(void)
{
    CUdevice device;
    CUcontext context;

    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context))
        return -1;
    return cuMemFree(0);
}
