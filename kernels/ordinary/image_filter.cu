// Blurs a picture repeatedly: each kernel reads what the one before wrote.
#include "kernels/ordinary/workload.cuh"

#include <vector>

const int WIDTH = 1920, HEIGHT = 1080, ROUNDS = 50;

__global__ void blur(const unsigned char *from, unsigned char *to)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= WIDTH || y >= HEIGHT)
        return;
    int sum = 0, count = 0;
    for (int row = max(y - 1, 0); row <= min(y + 1, HEIGHT - 1); row++) {
        for (int column = max(x - 1, 0); column <= min(x + 1, WIDTH - 1); column++) {
            sum += from[row * WIDTH + column];
            count++;
        }
    }
    to[y * WIDTH + x] = (unsigned char)(sum / count);
}

int main()
{
    const size_t bytes = size_t(WIDTH) * HEIGHT;
    std::vector<unsigned char> picture(bytes, 200);
    unsigned char *memory[2];
    for (unsigned char *&each : memory)
        CHECK(cudaMalloc(&each, bytes));
    CHECK(cudaMemcpy(memory[0], picture.data(), bytes, cudaMemcpyHostToDevice));
    dim3 block(32, 8), grid((WIDTH + 31) / 32, (HEIGHT + 7) / 8);
    for (int i = 0; i < ROUNDS; i++)
        blur<<<grid, block>>>(memory[i % 2], memory[(i + 1) % 2]);
    CHECK(cudaMemcpy(picture.data(), memory[ROUNDS % 2], bytes, cudaMemcpyDeviceToHost));
    bool even = true;
    for (unsigned char value : picture)
        even = even && value == 200; // a uniform picture does not change
    std::printf("claim kernels %d blur\n", ROUNDS);
    std::printf("claim bytes %zu host to device\n", bytes);
    std::printf("claim bytes %zu device to host\n", bytes);
    for (unsigned char *each : memory)
        CHECK(cudaFree(each));
    return finish(even);
}
