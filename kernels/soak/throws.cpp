// A call that an exception leaves: the driver calls a function of the program, which throws. log.h
// is C, so soak.c has what is needed of it.
#include <cuda.h>

#include <stdexcept>

// log.h is C: what is needed of it is in soak.c.
extern "C" bool soak_throw(CUfunction function);
extern "C" void soak_before_throw();
extern "C" void soak_after_throw(int result);

static size_t CUDA_CB refuse(int block_size)
{
    (void)block_size;
    throw std::runtime_error("from the callback");
}

bool soak_throw(CUfunction function)
{
    int grid = 0, block = 0;

    soak_before_throw();
    try {
        soak_after_throw(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, refuse, 0, 0));
    } catch (const std::runtime_error &) {
        soak_after_throw(-32768);
        return true;
    }
    return false;
}
