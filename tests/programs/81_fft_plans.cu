// clang-format off
// Measures how a fluid flows: the windows of two pictures are correlated by FFT, and the peaks say how far the particles moved.
//
// source: https://github.com/cupy/cupy/issues/3588 (reusing cuFFT plans: 500 us less for each transform)
// source: https://github.com/kokkos/kokkos-fft/pull/19 (merged: plans are reused, since making them takes time)
// mechanism: the stream and the two cuFFT plans are made for each pair of pictures and destroyed afterwards: the plans allocate memory and free it
// FIX=1: they are made once
// truth: {"cause": "a stream and two cuFFT plans are created and destroyed for each pair of pictures", "line_function": "make_tools", "line": 108, "also_ok": ["allocating, freeing or waiting in make_tools or drop_tools"], "half_ok": ["GPU idle in correlate"], "lost_share": 0.75, "what": ["allocating", "freeing", "waits", "free", "loading", "module-load", "lazy-load", "copying", "native", "host-code"], "lines": [108, "make_tools", "drop_tools", 109, 116, 117, 128], "step": "a pair of pictures of main()", "step_line": 167, "warm_up_steps": 3, "step_ms": [1.0, 0.22], "saves_s": 6.2}
// build: nvcc -O2 -g -lineinfo -lcufft
// clang-format on
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <cufft.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int result_ = (int)(call);                                                                 \
        if (result_ != 0) {                                                                        \
            fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, result_);        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int WIDTH = 1024, HEIGHT = 1024, WINDOW = 96, HOP = 48;
static const int ACROSS = (WIDTH - WINDOW) / HOP + 1, COUNT = ACROSS * ACROSS;
static const int REAL = WINDOW * WINDOW, COMPLEX = WINDOW * (WINDOW / 2 + 1);
static const int PICTURES = 8, PAIRS = 100000;
static const double MAX_SECONDS = 8.0;
static bool fix;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

__global__ void fill(float *picture, unsigned seed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = (i + seed * 7919u) * 2654435761u;

    x ^= x >> 13;
    picture[i] = (x & 255) < 12 ? 1.0f : 0.02f * (x >> 8 & 15);
}

// One block for each window.
__global__ void cut(const float *picture, float *windows)
{
    int left = blockIdx.x % ACROSS * HOP, top = blockIdx.x / ACROSS * HOP;

    for (int i = threadIdx.x; i < REAL; i += blockDim.x)
        windows[(size_t)blockIdx.x * REAL + i] =
            picture[(top + i / WINDOW) * WIDTH + left + i % WINDOW] - 0.2f;
}

__global__ void multiply(const cufftComplex *a, cufftComplex *b, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        b[i] = {(a[i].x * b[i].x + a[i].y * b[i].y) / REAL,
                (a[i].x * b[i].y - a[i].y * b[i].x) / REAL};
}

__global__ void find_peak(const float *correlation, int2 *shifts)
{
    __shared__ float best[128];
    __shared__ int where[128];
    const float *mine = correlation + (size_t)blockIdx.x * REAL;
    float value = -1e30f;
    int at = 0;

    for (int i = threadIdx.x; i < REAL; i += 128)
        if (mine[i] > value)
            value = mine[i], at = i;
    best[threadIdx.x] = value, where[threadIdx.x] = at;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half && best[threadIdx.x + half] > best[threadIdx.x]) {
            best[threadIdx.x] = best[threadIdx.x + half];
            where[threadIdx.x] = where[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0)
        shifts[blockIdx.x] = {where[0] % WINDOW, where[0] / WINDOW};
}

struct tools {
    cudaStream_t stream;
    cufftHandle forward, back;
};

struct memory {
    float *windows;
    cufftComplex *first, *second;
    int2 *shifts, *result;
};

__attribute__((noinline)) static void make_tools(struct tools *tools)
{
    int n[2] = {WINDOW, WINDOW}, r = REAL, c = COMPLEX;
    cufftHandle *forward = &tools->forward, *back = &tools->back;

    CHECK(cudaStreamCreate(&tools->stream));
    CHECK(cufftPlanMany(forward, 2, n, NULL, 1, r, NULL, 1, c, CUFFT_R2C, COUNT)); // <-- here
    CHECK(cufftPlanMany(back, 2, n, NULL, 1, c, NULL, 1, r, CUFFT_C2R, COUNT));
    CHECK(cufftSetStream(tools->forward, tools->stream));
    CHECK(cufftSetStream(tools->back, tools->stream));
}

__attribute__((noinline)) static void drop_tools(struct tools tools)
{
    CHECK(cufftDestroy(tools.forward));
    CHECK(cufftDestroy(tools.back));
    CHECK(cudaStreamDestroy(tools.stream));
}

// How far each window moved, on the host.
__attribute__((noinline)) static void correlate(const float *before, const float *after,
                                                struct memory *memory, const struct tools *kept)
{
    struct tools tools = *kept;

    if (!fix)
        make_tools(&tools);
    cut<<<COUNT, 256, 0, tools.stream>>>(before, memory->windows);
    CHECK(cufftExecR2C(tools.forward, memory->windows, memory->first));
    cut<<<COUNT, 256, 0, tools.stream>>>(after, memory->windows);
    CHECK(cufftExecR2C(tools.forward, memory->windows, memory->second));
    multiply<<<(COUNT * COMPLEX + 255) / 256, 256, 0, tools.stream>>>(memory->first, memory->second,
                                                                      COUNT * COMPLEX);
    CHECK(cufftExecC2R(tools.back, memory->second, memory->windows));
    find_peak<<<COUNT, 128, 0, tools.stream>>>(memory->windows, memory->shifts);
    CHECK(cudaMemcpyAsync(memory->result, memory->shifts, COUNT * sizeof(int2),
                          cudaMemcpyDeviceToHost, tools.stream));
    CHECK(cudaStreamSynchronize(tools.stream));
    if (!fix)
        drop_tools(tools);
}

int main()
{
    fix = getenv("FIX") && !strcmp(getenv("FIX"), "1");
    std::vector<float *> pictures(PICTURES);
    struct memory memory;
    struct tools kept;
    long moved = 0;

    for (int i = 0; i < PICTURES; i++) {
        CHECK(cudaMalloc(&pictures[i], WIDTH * HEIGHT * sizeof(float)));
        fill<<<WIDTH * HEIGHT / 256, 256>>>(pictures[i], i);
    }
    CHECK(cudaMalloc(&memory.windows, (size_t)COUNT * REAL * sizeof(float)));
    CHECK(cudaMalloc(&memory.first, (size_t)COUNT * COMPLEX * sizeof(cufftComplex)));
    CHECK(cudaMalloc(&memory.second, (size_t)COUNT * COMPLEX * sizeof(cufftComplex)));
    CHECK(cudaMalloc(&memory.shifts, COUNT * sizeof(int2)));
    CHECK(cudaMallocHost(&memory.result, COUNT * sizeof(int2)));
    make_tools(&kept);
    for (int i = 0; i < 3; i++)
        correlate(pictures[i], pictures[i + 1], &memory, &kept);
    CHECK(cudaDeviceSynchronize());
    double start = now();
    int pair = 0;
    for (; pair < PAIRS && now() - start < MAX_SECONDS; pair++) {
        correlate(pictures[pair % PICTURES], pictures[(pair + 1) % PICTURES], &memory, &kept);
        for (int i = 0; i < COUNT; i++)
            moved += memory.result[i].x;
    }
    printf("done: %d steps in %.2f s, %ld pixels\n", pair, now() - start, moved / (pair + 1L));
    drop_tools(kept);
    return 0;
}
