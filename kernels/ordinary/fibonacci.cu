// Work that does not suit a GPU: a single thread computes one number at a time, and each goes to
// the host before the next. The host would be faster.
#include "kernels/ordinary/workload.cuh"

const int NUMBERS = 90;

__global__ void next_fibonacci(unsigned long long *pair)
{
    unsigned long long next = pair[0] + pair[1];
    pair[0] = pair[1];
    pair[1] = next;
}

int main()
{
    unsigned long long pair[2] = {0, 1}, *memory;
    CHECK(cudaMalloc(&memory, sizeof(pair)));
    CHECK(cudaMemcpy(memory, pair, sizeof(pair), cudaMemcpyHostToDevice));
    for (int i = 1; i < NUMBERS; i++) {
        next_fibonacci<<<1, 1>>>(memory);
        CHECK(cudaMemcpy(pair, memory, sizeof(pair), cudaMemcpyDeviceToHost));
    }
    std::printf("claim kernels %d next_fibonacci\n", NUMBERS - 1);
    std::printf("claim copies %d device to host\n", NUMBERS - 1);
    CHECK(cudaFree(memory));
    return finish(pair[1] == 2880067194370816120ull);
}
