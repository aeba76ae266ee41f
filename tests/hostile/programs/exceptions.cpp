/* Exceptions and jumps leave frames that called CUDA, and callbacks of CUDA. */
extern "C" {
#include "strange.h"
}

#include <csetjmp>
#include <stdexcept>

static jmp_buf back;
static unsigned how;

struct watched {
    unsigned levels;
    ~watched()
    {
        if (levels % 3 == 0)
            strange_call();
    }
};

[[noreturn]] static void leave()
{
    strange_call();
    if (how == 0)
        std::longjmp(back, 1);
    throw std::runtime_error("left");
}

static size_t CUDA_CB ask_back(int block_size)
{
    (void)block_size;
    leave();
}

__attribute__((noinline)) static void deep(unsigned levels)
{
    if (how != 0) {
        watched here{levels};

        if (levels == 0)
            leave();
        try {
            deep(levels - 1);
        } catch (const std::runtime_error &) {
            strange_call();
            if (levels % 4 != 0)
                throw;
        }
        return;
    }
    int grid, block;
    if (levels == 0)
        cuOccupancyMaxPotentialBlockSize(&grid, &block, strange_gpu.tick, ask_back, 0, 64);
    else
        deep(levels - 1);
}

static void strange_run(void)
{
    for (int i = 0; i < 20; i++) {
        how = strange_below(3);
        if (setjmp(back) == 0) {
            try {
                deep(strange_below(10));
            } catch (const std::runtime_error &) {
                strange_call();
            }
        } else {
            strange_call();
        }
    }
}
