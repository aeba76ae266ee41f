// A matrix product in tiles of shared memory: much computation per byte copied.
#include "kernels/ordinary/workload.cuh"

#include <vector>

const int TILE = 16;
const int SIZE = 2048;
const int ROUNDS = 10;

__global__ void matrix_product(const float *left, const float *right, float *product, int size)
{
    __shared__ float left_tile[TILE][TILE], right_tile[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < size; at += TILE) {
        left_tile[threadIdx.y][threadIdx.x] = left[row * size + at + threadIdx.x];
        right_tile[threadIdx.y][threadIdx.x] = right[(at + threadIdx.y) * size + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += left_tile[threadIdx.y][i] * right_tile[i][threadIdx.x];
        __syncthreads();
    }
    product[row * size + column] = sum;
}

int main()
{
    const size_t bytes = sizeof(float) * SIZE * SIZE;
    std::vector<float> left(SIZE * SIZE), right(SIZE * SIZE), product(SIZE * SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        left[i] = i % 3;
        right[i] = i / SIZE % 2;
    }
    float *memory[3];
    for (float *&each : memory)
        CHECK(cudaMalloc(&each, bytes));
    CHECK(cudaMemcpy(memory[0], left.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(memory[1], right.data(), bytes, cudaMemcpyHostToDevice));
    dim3 grid(SIZE / TILE, SIZE / TILE), block(TILE, TILE);
    matrix_product<<<grid, block>>>(memory[0], memory[1], memory[2], SIZE);
    CHECK(cudaDeviceSynchronize());
    Stopwatch watch;
    for (int i = 0; i < ROUNDS; i++)
        matrix_product<<<grid, block>>>(memory[0], memory[1], memory[2], SIZE);
    std::printf("claim events %.3f ms matrix_product\n", watch.stop());
    CHECK(cudaMemcpy(product.data(), memory[2], bytes, cudaMemcpyDeviceToHost));
    bool right_result = true;
    for (int row = 0; row < SIZE; row += 331) {
        float wanted = 0;
        for (int i = 0; i < SIZE; i++)
            wanted += left[row * SIZE + i] * right[i * SIZE + 5];
        right_result = right_result && product[row * SIZE + 5] == wanted;
    }
    std::printf("claim kernels %d matrix_product\n", ROUNDS + 1);
    std::puts("claim copies 2 host to device");
    std::puts("claim copies 1 device to host");
    for (float *each : memory)
        CHECK(cudaFree(each));
    return finish(right_result);
}
