// inlined: slow calls in functions that the compiler inlines into main(), which it is made to do.
#include <cuda.h>

#include <cstdlib>

#define INLINED __attribute__((always_inline))

namespace
{

const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".visible .entry empty()\n{\n ret;\n}\n";

INLINED inline void need(CUresult result)
{
    if (result != CUDA_SUCCESS)
        std::exit(91);
}

} // namespace

struct Scratch {
    CUmodule module;

    INLINED explicit Scratch(const char *code)
    {
        need(cuModuleLoadData(&module, code)); // in a constructor
    }
};

static INLINED inline Scratch sort_axis(const char *code)
{
    return Scratch(code); // calls the constructor
}

namespace
{

struct Holder {
    CUmodule module;

    INLINED void take(const char *code)
    {
        need(cuModuleLoadData(&module, code)); // in an unnamed namespace
    }
};

} // namespace

int main()
{
    CUdevice device;
    CUcontext context;

    need(cuInit(0));
    need(cuDeviceGet(&device, 0));
    need(cuDevicePrimaryCtxRetain(&context, device));
    need(cuCtxSetCurrent(context));
    sort_axis(ptx);     // main() calls sort_axis
    Holder().take(ptx); // main() calls take
    auto load = [](const char *code) INLINED {
        CUmodule module;
        need(cuModuleLoadData(&module, code)); // in a lambda
    };
    load(ptx); // main() calls the lambda
    return 0;
}
