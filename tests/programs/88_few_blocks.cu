// clang-format off
// Moves stars under their gravity (N bodies), with a thread for each star: the GPU is always busy, and mostly empty.
//
// source: https://github.com/numba/numba/pull/6889 (merged: a warning for grids with fewer than two blocks for each multiprocessor)
// source: https://github.com/Maghoumi/pytorch-softdtw-cuda/issues/21 (a grid of 4 blocks on a GPU of 82 multiprocessors)
// mechanism: 8192 stars are 16 blocks of 512 threads, on 132 multiprocessors. Launches are far ahead of the GPU, and nothing waits: there is no lost time
// FIX=1: eight threads share the work of a star
// truth: {"cause": "none: no time is lost, the GPU is busy all the time; its kernel fills 16 of 132 multiprocessors", "line_function": "advance", "line": 0, "also_ok": ["no finding", "busy: accelerate fills a part of the GPU"], "half_ok": ["findings below 5 %"], "lost_share": 0.0, "what": [], "lines": [], "none_above": 0.05, "busy_line": 84, "step": "a time step of main()", "step_line": 101, "warm_up_steps": 10, "step_ms": [0.45, 0.07], "saves_s": 0.0}
// build: nvcc -O2 -g -lineinfo
// clang-format on
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t result_ = (call);                                                              \
        if (result_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result_));       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int STARS = 8192, THREADS = 512, STEPS = 1000000;
static const double MAX_SECONDS = 8.0;
static bool fix;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

__global__ void place(float4 *stars, float4 *speeds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i * 2654435761u, b = (i + 77) * 2246822519u, c = (i + 991) * 3266489917u;
    float scale = 1.0f / 4294967296.0f;

    stars[i] = make_float4(a * scale - 0.5f, b * scale - 0.5f, c * scale - 0.5f, 1.0f / STARS);
    speeds[i] = make_float4(0.2f * stars[i].y, -0.2f * stars[i].x, 0, 0);
}

// Each thread sums the pull of every `parts`-th star.
__global__ void accelerate(const float4 *stars, float4 *speeds, float dt, int parts)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x, i = thread / parts;
    float4 me = stars[i];
    float x = 0, y = 0, z = 0;

    for (int j = thread % parts; j < STARS; j += parts) {
        float4 other = stars[j];
        float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
        float pull = other.w * inverse * inverse * inverse;
        x += pull * dx, y += pull * dy, z += pull * dz;
    }
    for (int other = parts / 2; other > 0; other /= 2) {
        x += __shfl_down_sync(0xffffffffu, x, other);
        y += __shfl_down_sync(0xffffffffu, y, other);
        z += __shfl_down_sync(0xffffffffu, z, other);
    }
    if (thread % parts == 0) {
        float4 v = speeds[i];
        speeds[i] = make_float4(v.x + dt * x, v.y + dt * y, v.z + dt * z, 0);
    }
}

__global__ void move(float4 *stars, const float4 *speeds, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    stars[i].x += dt * speeds[i].x;
    stars[i].y += dt * speeds[i].y;
    stars[i].z += dt * speeds[i].z;
}

__attribute__((noinline)) static void advance(float4 *stars, float4 *speeds, float dt)
{
    int parts = fix ? 8 : 1;

    accelerate<<<STARS * parts / THREADS, THREADS>>>(stars, speeds, dt, parts);
    move<<<STARS / THREADS, THREADS>>>(stars, speeds, dt);
}

int main()
{
    fix = getenv("FIX") && !strcmp(getenv("FIX"), "1");
    float4 *stars, *speeds, first;
    int step = 0;

    CHECK(cudaMalloc(&stars, STARS * sizeof(float4)));
    CHECK(cudaMalloc(&speeds, STARS * sizeof(float4)));
    place<<<STARS / THREADS, THREADS>>>(stars, speeds);
    for (int i = 0; i < 10; i++)
        advance(stars, speeds, 1e-4f);
    CHECK(cudaDeviceSynchronize());
    double start = now();
    for (; step < STEPS; step++) {
        advance(stars, speeds, 1e-4f);
        if (step % 400 == 399) { // how it goes
            CHECK(cudaMemcpy(&first, stars, sizeof(first), cudaMemcpyDeviceToHost));
            if (now() - start > MAX_SECONDS)
                break;
        }
    }
    CHECK(cudaDeviceSynchronize());
    printf("done: %d steps in %.2f s, first star at %.4f %.4f\n", step, now() - start, first.x,
           first.y);
    return 0;
}
