// clang-format off
// Filters the pictures of two cameras, on a stream for each; an exposure meter looks at both.
//
// source: https://github.com/Genesis-Embodied-AI/quadrants/pull/407 (streams wait for the default stream, so that nothing overlaps)
// source: https://github.com/libocca/occa/issues/379 (all streams are synchronised with the null stream)
// mechanism: the meter is launched without a stream, so on the legacy default stream, between the two filters: it waits for the first one, and
//            the second one waits for the meter. Each filter fills a part of the GPU, so that both could run at once
// FIX=1: the meter uses the stream of its camera
// truth: {"cause": "a kernel on the legacy default stream between the work of two streams serialises them", "line_function": "measure", "line": 73, "also_ok": ["serialised at this line"], "half_ok": ["kernels fill a part of the GPU"], "lost_share": 0.45, "what": ["serialised"], "lines": [73, "measure"]}
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

static const int WIDTH = 1280, HEIGHT = 720, PIXELS = WIDTH * HEIGHT, FRAMES = 4000;
static const double MAX_SECONDS = 8.0;
static bool fix;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Rounds of a diffusion that keeps edges; a few blocks go over the whole picture.
__global__ void smooth(const float *in, float *out, int rounds)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < PIXELS; i += gridDim.x * blockDim.x) {
        float v = in[i], right = in[min(i + 1, PIXELS - 1)], below = in[min(i + WIDTH, PIXELS - 1)];
        for (int r = 0; r < rounds; r++) {
            float dx = right - v, dy = below - v;
            v += 0.1f * (dx * __expf(-dx * dx * 4) + dy * __expf(-dy * dy * 4));
        }
        out[i] = v;
    }
}

__global__ void exposure(const float *picture, unsigned *histogram)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < PIXELS)
        atomicAdd(&histogram[min(63, max(0, (int)(picture[i] * 64)))], 1u);
}

struct camera {
    cudaStream_t stream;
    float *picture, *filtered;
};

__attribute__((noinline)) static void filter(struct camera *camera, int rounds)
{
    smooth<<<48, 256, 0, camera->stream>>>(camera->picture, camera->filtered, rounds);
}

__attribute__((noinline)) static void measure(const struct camera *camera, unsigned *histogram)
{
    int blocks = (PIXELS + 255) / 256;
    cudaStream_t stream = fix ? camera->stream : 0;

    exposure<<<blocks, 256, 0, stream>>>(camera->picture, histogram); // <-- here
}

int main()
{
    fix = getenv("FIX") && !strcmp(getenv("FIX"), "1");
    struct camera cameras[2];
    unsigned *histogram, bins[64];
    float *host = (float *)malloc(PIXELS * sizeof(float));

    for (int i = 0; i < PIXELS; i++)
        host[i] = (float)((i * 2654435761u) >> 8) / (1 << 24);
    for (struct camera &camera : cameras) {
        CHECK(cudaStreamCreate(&camera.stream));
        CHECK(cudaMalloc(&camera.picture, PIXELS * sizeof(float)));
        CHECK(cudaMalloc(&camera.filtered, PIXELS * sizeof(float)));
        CHECK(cudaMemcpy(camera.picture, host, PIXELS * sizeof(float), cudaMemcpyHostToDevice));
    }
    CHECK(cudaMalloc(&histogram, sizeof(bins)));
    CHECK(cudaMemset(histogram, 0, sizeof(bins)));

    // As many rounds as take 1.5 ms on this GPU.
    cudaEvent_t t0, t1;
    float ms = 0;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaEventRecord(t0, cameras[0].stream));
        filter(&cameras[0], 20);
        CHECK(cudaEventRecord(t1, cameras[0].stream));
        CHECK(cudaEventSynchronize(t1));
        CHECK(cudaEventElapsedTime(&ms, t0, t1));
    }
    int rounds = 1 + (int)(20 * 1.5f / ms), frame = 0;

    CHECK(cudaDeviceSynchronize());
    double start = now();
    for (; frame < FRAMES && now() - start < MAX_SECONDS; frame++) {
        filter(&cameras[0], rounds);
        measure(&cameras[0], histogram);
        filter(&cameras[1], rounds);
        measure(&cameras[1], histogram);
        if (frame % 50 == 49)
            CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(bins, histogram, sizeof(bins), cudaMemcpyDeviceToHost));
    printf("done: %d steps in %.2f s, bin %u\n", frame, now() - start, bins[31]);
    return 0;
}
