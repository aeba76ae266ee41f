// clang-format off
// Contracts a chain of small tensors, sweep after sweep.
//
// source: https://github.com/Cytnx-dev/Cytnx/issues/1144 (a cuBLAS handle for each call: 326 us around a multiplication of 20 us)
// source: https://github.com/Cytnx-dev/Cytnx/pull/1148 (merged: a handle for each device)
// mechanism: each contraction creates a cuBLAS handle and destroys it, which allocates memory, makes streams, and waits for the GPU
// FIX=1: one handle
// truth: {"cause": "a cuBLAS handle is created and destroyed for each contraction", "line_function": "contract", "line": 64, "also_ok": ["freeing or waiting in cublasDestroy in contract"], "half_ok": ["GPU idle in sweep"], "lost_share": 0.8, "what": ["allocating", "freeing", "waits", "free", "loading", "native", "host-code"], "lines": [64, "contract"]}
// build: nvcc -O2 -g -lineinfo -lcublas
// clang-format on
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int result_ = (int)(call);                                                                 \
        if (result_ != 0) {                                                                        \
            fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, result_);        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int SITES = 48, BOND = 256;
static const double SECONDS = 8.0;
static bool fix;
static cublasHandle_t kept;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

__global__ void fill(double *tensor, int count, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = (i + 1) * 2654435761u ^ seed;

    x ^= x >> 15;
    if (i < count)
        tensor[i] = (double)(x & 0xffff) / 65536.0 - 0.5;
}

__global__ void normalise(double *tensor, int count, double factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        tensor[i] = tanh(tensor[i] * factor);
}

// out = a * b
__attribute__((noinline)) static void contract(const double *a, const double *b, double *out)
{
    const double one = 1.0, zero = 0.0;
    cublasHandle_t handle = kept;

    if (!fix)
        CHECK(cublasCreate(&handle)); // <-- here
    CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, BOND, BOND, BOND, &one, a, BOND, b, BOND,
                      &zero, out, BOND));
    if (!fix)
        CHECK(cublasDestroy(handle));
}

// From the left to the right, and the size of the result.
__attribute__((noinline)) static void sweep(const std::vector<double *> &sites, double *left,
                                            double *next)
{
    int count = BOND * BOND;

    for (double *site : sites) {
        contract(left, site, next);
        normalise<<<(count + 255) / 256, 256>>>(next, count, 0.5);
        std::swap(left, next);
    }
}

int main()
{
    fix = getenv("FIX") && !strcmp(getenv("FIX"), "1");
    int count = BOND * BOND, done = 0;
    std::vector<double *> sites(SITES);
    double *left, *next, corner = 0;

    CHECK(cublasCreate(&kept));
    CHECK(cudaMalloc(&left, count * sizeof(double)));
    CHECK(cudaMalloc(&next, count * sizeof(double)));
    for (int i = 0; i < SITES; i++) {
        CHECK(cudaMalloc(&sites[i], count * sizeof(double)));
        fill<<<(count + 255) / 256, 256>>>(sites[i], count, i * 40503u);
    }
    fill<<<(count + 255) / 256, 256>>>(left, count, 12345u);
    for (int i = 0; i < 3; i++)
        sweep(sites, left, next);
    CHECK(cudaDeviceSynchronize());
    double start = now();
    while (now() - start < SECONDS) {
        sweep(sites, left, next);
        if (++done % 10 == 0)
            CHECK(cudaMemcpy(&corner, left, sizeof(corner), cudaMemcpyDeviceToHost));
    }
    CHECK(cudaDeviceSynchronize());
    printf("done: %d steps in %.2f s, corner %.4f\n", done, now() - start, corner);
    return 0;
}
