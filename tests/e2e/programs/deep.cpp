// deep: slow calls from nested C++ functions.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace
{

const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".visible .entry empty()\n{\n ret;\n}\n";

void need(CUresult result)
{
    if (result != CUDA_SUCCESS)
        std::exit(91);
}

struct Pipeline {
    template <typename T> __attribute__((noinline)) int stage(T value);
};

__attribute__((noinline)) void load()
{
    CUmodule module;

    need(cuModuleLoadData(&module, ptx)); // the line that a stack shows
    __asm__ volatile("" ::: "memory");    // no tail call
}

template <typename T> int Pipeline::stage(T value)
{
    load();
    __asm__ volatile("" ::: "memory");
    return static_cast<int>(value);
}

} // namespace

int main()
{
    CUdevice device;
    CUcontext context;

    need(cuInit(0));
    need(cuDeviceGet(&device, 0));
    need(cuDevicePrimaryCtxRetain(&context, device));
    need(cuCtxSetCurrent(context));
    volatile long times = 3; // a loop that the compiler keeps
    for (long i = 0; i < times; i++)
        Pipeline().stage(i);
    std::puts("three loads");
    return 0;
}
