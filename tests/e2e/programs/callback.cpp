/*
 * callback throw|jump|return: the driver calls the program back on the caller's stack
 * (cuOccupancyMaxPotentialBlockSize). The program leaves that callback by an exception, by a jump,
 * or normally. Later calls must be recorded like any others.
 */
#include <cuda.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static const char *how;
static jmp_buf back;

static void expect_success(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        std::fprintf(stderr, "%s returned %d\n", call, static_cast<int>(result));
        std::exit(90);
    }
}
#define OK(call) expect_success(call, #call)

static size_t CUDA_CB shared_bytes(int block_size)
{
    (void)block_size;
    if (!std::strcmp(how, "throw"))
        throw std::runtime_error("from the callback");
    if (!std::strcmp(how, "jump"))
        std::longjmp(back, 1);
    return 0;
}

static void ask(CUfunction function)
{
    int grid = 0, block = 0;

    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, shared_bytes, 0, 0));
    std::printf("asked: %s\n", grid > 0 && block > 0 ? "sizes" : "nothing");
}

static void leave(CUfunction function)
{
    if (!std::strcmp(how, "jump")) {
        if (setjmp(back))
            std::printf("jumped\n");
        else
            ask(function);
        return;
    }
    try {
        ask(function);
    } catch (const std::runtime_error &error) {
        std::printf("caught: %s\n", error.what());
    }
}

int main(int argc, char **argv)
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".visible .entry tick()\n{\nret;\n}\n";
    CUfunction function;
    CUcontext context;
    CUmodule module;

    how = argc > 1 ? argv[1] : "return";
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&function, module, "tick"));
    for (int i = 0; i < 40; i++)
        leave(function);
    for (int i = 0; i < 5; i++)
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(module));
    std::printf("done\n");
    return 0;
}
