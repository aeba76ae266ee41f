// Shared by the ordinary workloads in CUDA C++. workload.h describes their claims.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// On the simulator no kernel computes anything.
inline bool simulated()
{
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    return std::strstr(properties.name, "GV_SIM") != nullptr;
}

// Prints the result and ends the program.
inline int finish(bool right)
{
    CHECK(cudaDeviceSynchronize());
    if (simulated()) {
        std::puts("a simulated GPU computes nothing, so the result was not checked");
        return 0;
    }
    std::puts(right ? "the result is right" : "wrong result");
    return right ? 0 : 1;
}

// The time between two events, in milliseconds.
class Stopwatch
{
  public:
    Stopwatch()
    {
        CHECK(cudaEventCreate(&start));
        CHECK(cudaEventCreate(&end));
        CHECK(cudaEventRecord(start));
    }
    ~Stopwatch()
    {
        cudaEventDestroy(start);
        cudaEventDestroy(end);
    }
    float stop()
    {
        float ms = 0;
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, start, end));
        return ms;
    }

  private:
    cudaEvent_t start, end;
};
