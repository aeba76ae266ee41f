// A kernel that prints. Its text appears when the host waits, and is part of the program's output.
#include "kernels/ordinary/workload.cuh"

__global__ void print_kernel(int times)
{
    for (int i = 0; i < times; i++)
        printf("thread %d says %d\n", int(threadIdx.x), i);
}

int main()
{
    print_kernel<<<1, 2>>>(3);
    CHECK(cudaDeviceSynchronize());
    std::puts("claim kernels 1 print_kernel");
    return 0;
}
