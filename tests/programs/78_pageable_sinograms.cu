// clang-format off
// Reconstructs slices of a CT scan, in two streams, so that the upload of a slice overlaps the work on the one before.
//
// source: https://github.com/microsoft/onnxruntime/issues/20947 (cudaMemcpyAsync from pageable memory blocks: low GPU utilisation)
// source: https://github.com/arrayfire/arrayfire/issues/2416 (copies from a std::vector are not asynchronous)
// mechanism: the detector's frames are in memory from malloc: cudaMemcpyAsync stages them, at a fraction of the bus's speed, and blocks; nothing overlaps
// FIX=1: the frames are in pinned memory
// truth: {"cause": "the frames are in pageable memory, so that cudaMemcpyAsync is a slow, blocking copy, and the GPU waits for it", "line_function": "upload", "line": 90, "also_ok": ["copies from pageable memory at this line", "stalled pageable-copy at this line"], "half_ok": ["copying at this line, without the word pageable or pinned", "waits at this line"], "lost_share": 0.65, "what": ["copy-pageable", "pageable-copy", "copying"], "lines": [90, "upload", "host_buffer", 145], "step": "a slice of main()", "step_line": 139, "warm_up_steps": 0, "step_ms": [6.5, 2.2], "saves_s": 5.3}
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

static const int DETECTORS = 2048, ANGLES = 7200, IMAGE = 512, TAPS = 9, FRAMES = 6;
static const size_t SINOGRAM = (size_t)DETECTORS * ANGLES;
static const int SLICES = 20000;
static const double MAX_SECONDS = 8.0;
static bool fix;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// A short high-pass filter along the detectors.
__global__ void ramp(const float *sinogram, float *filtered)
{
    int d = blockIdx.x * blockDim.x + threadIdx.x, angle = blockIdx.y;
    const float *row = sinogram + (size_t)angle * DETECTORS;
    float sum = 0.25f * row[d];

    for (int k = 1; k < TAPS; k += 2) {
        float w = -0.10132118f / (k * k);
        sum += w * (row[max(d - k, 0)] + row[min(d + k, DETECTORS - 1)]);
    }
    filtered[(size_t)angle * DETECTORS + d] = sum;
}

// Each pixel sums what passed through it; every `stride`-th angle is enough.
__global__ void backproject(const float *filtered, float *image, int stride)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float px = x - IMAGE / 2, py = y - IMAGE / 2, sum = 0;

    for (int angle = 0; angle < ANGLES; angle += stride) {
        float s, c;
        __sincosf(angle * 3.14159265f / ANGLES, &s, &c);
        float t = (px * c + py * s) * 2.0f + DETECTORS / 2;
        int d = min(max((int)t, 0), DETECTORS - 2);
        const float *row = filtered + (size_t)angle * DETECTORS;
        sum += row[d] + (t - d) * (row[d + 1] - row[d]);
    }
    image[y * IMAGE + x] = sum * stride / ANGLES;
}

struct lane {
    cudaStream_t stream;
    float *sinogram, *filtered, *image, *result;
};

static float *host_buffer(size_t count)
{
    float *buffer;

    if (!fix)
        return (float *)malloc(count * sizeof(float));
    CHECK(cudaMallocHost(&buffer, count * sizeof(float)));
    return buffer;
}

__attribute__((noinline)) static void upload(struct lane *lane, const float *frame)
{
    size_t bytes = SINOGRAM * sizeof(float);
    cudaStream_t stream = lane->stream;
    float *to = lane->sinogram;

    CHECK(cudaMemcpyAsync(to, frame, bytes, cudaMemcpyHostToDevice, stream)); // <-- here
}

__attribute__((noinline)) static void reconstruct(struct lane *lane, int stride)
{
    dim3 block(16, 16), grid(IMAGE / 16, IMAGE / 16), rows(DETECTORS / 256, ANGLES);
    size_t bytes = IMAGE * IMAGE * sizeof(float);

    ramp<<<rows, 256, 0, lane->stream>>>(lane->sinogram, lane->filtered);
    backproject<<<grid, block, 0, lane->stream>>>(lane->filtered, lane->image, stride);
    CHECK(cudaMemcpyAsync(lane->result, lane->image, bytes, cudaMemcpyDeviceToHost, lane->stream));
}

int main()
{
    fix = getenv("FIX") && !strcmp(getenv("FIX"), "1");
    struct lane lanes[2];
    float *frames[FRAMES], mean = 0;

    for (int f = 0; f < FRAMES; f++) {
        frames[f] = host_buffer(SINOGRAM);
        for (size_t i = 0; i < SINOGRAM; i++)
            frames[f][i] = (float)((unsigned)(i * 2654435761u + f * 40503u) >> 8) / (1 << 24);
    }
    for (struct lane &lane : lanes) {
        CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&lane.sinogram, SINOGRAM * sizeof(float)));
        CHECK(cudaMalloc(&lane.filtered, SINOGRAM * sizeof(float)));
        CHECK(cudaMalloc(&lane.image, IMAGE * IMAGE * sizeof(float)));
        CHECK(cudaMallocHost(&lane.result, IMAGE * IMAGE * sizeof(float)));
        CHECK(cudaMemset(lane.sinogram, 0, SINOGRAM * sizeof(float)));
    }

    // As many angles as take 2 ms on this GPU.
    cudaEvent_t t0, t1;
    float ms = 0;
    CHECK(cudaEventCreate(&t0));
    CHECK(cudaEventCreate(&t1));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaEventRecord(t0, lanes[0].stream));
        reconstruct(&lanes[0], 1);
        CHECK(cudaEventRecord(t1, lanes[0].stream));
        CHECK(cudaEventSynchronize(t1));
        CHECK(cudaEventElapsedTime(&ms, t0, t1));
    }
    int stride = ms > 2 ? (int)(ms / 2 + 0.5f) : 1, slice = 0;

    CHECK(cudaDeviceSynchronize());
    double start = now();
    for (; slice < SLICES && now() - start < MAX_SECONDS; slice++) {
        struct lane &lane = lanes[slice % 2];
        if (slice >= 2) {
            CHECK(cudaStreamSynchronize(lane.stream)); // its slice before
            mean += lane.result[IMAGE * IMAGE / 2 + IMAGE / 2];
        }
        upload(&lane, frames[slice % FRAMES]);
        reconstruct(&lane, stride);
    }
    CHECK(cudaDeviceSynchronize());
    printf("done: %d steps in %.2f s, stride %d, mean %.4f\n", slice, now() - start, stride,
           mean / slice);
    return 0;
}
