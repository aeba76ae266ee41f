/*
 * Launches and runtime calls whose stacks must name one line of this program: kernels of all kinds,
 * through host stubs, the templates of cuda_runtime.h, and lambdas. Prints "line NUMBER" for each
 * call, and which call it is.
 */
#include <cstdio>

static int failed;

/* Prints the call's line, then makes the call. */
#define AT(call)    (std::printf("line %d\n", __LINE__), call)
#define CHECK(call) failed |= AT(call) != cudaSuccess

namespace math
{
template <typename Function, int Count> __global__ void each(Function function, float *data)
{
    for (int i = 0; i < Count; i++)
        data[i] = function(data[i]);
}

__global__ void fill(float *data)
{
    data[threadIdx.x] = 1;
}
} // namespace math

namespace
{
__global__ void hidden(float *data)
{
    data[threadIdx.x] = 2;
}
} // namespace

extern "C" __global__ void plain(float *data)
{
    data[threadIdx.x] = 3;
}

struct Twice {
    __device__ float operator()(float value) const
    {
        return 2 * value;
    }
};

int main()
{
    float *data, host[32];
    float factor = 3;

    CHECK(cudaMalloc(&data, sizeof(host)));
    AT((plain<<<1, 32>>>(data)));
    AT((hidden<<<1, 32>>>(data)));
    AT((math::fill<<<1, 32>>>(data)));
    AT((math::each<Twice, 4><<<1, 1>>>(Twice(), data)));
    auto add = [] __device__(float value) { return value + 1; };
    AT((math::each<decltype(add), 4><<<1, 1>>>(add, data)));
    auto scale = [factor] __device__(float value) { return value * factor; };
    AT((math::each<decltype(scale), 4><<<1, 1>>>(scale, data)));
    CHECK(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(data));
    return failed;
}
