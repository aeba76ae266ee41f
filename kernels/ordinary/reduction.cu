// Sums up many numbers: in shared memory within a block, then by one atomic addition per block.
#include "kernels/ordinary/workload.cuh"

#include <vector>

const int COUNT = 1 << 22;
const int BLOCK = 256;

__global__ void sum_up(const int *numbers, int count, unsigned long long *sum)
{
    __shared__ int part[BLOCK];
    int index = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = index < count ? numbers[index] : 0;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, (unsigned long long)part[0]);
}

int main()
{
    std::vector<int> numbers(COUNT);
    unsigned long long wanted = 0, found = 0, *sum;
    for (int i = 0; i < COUNT; i++)
        wanted += numbers[i] = i % 1000;
    int *memory;
    CHECK(cudaMalloc(&memory, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    CHECK(cudaMemcpy(memory, numbers.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(sum, 0, sizeof(*sum)));
    sum_up<<<COUNT / BLOCK, BLOCK>>>(memory, COUNT, sum);
    CHECK(cudaMemcpy(&found, sum, sizeof(found), cudaMemcpyDeviceToHost));
    std::puts("claim kernels 1 sum_up");
    std::puts("claim copies 1 host to device");
    std::puts("claim copies 1 device to host");
    std::puts("claim sets 1 memset");
    CHECK(cudaFree(memory));
    CHECK(cudaFree(sum));
    return finish(found == wanted);
}
