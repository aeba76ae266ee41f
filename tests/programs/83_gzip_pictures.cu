// clang-format off
// Simulates how patterns grow (reaction and diffusion), and keeps a small picture of each moment, compressed.
//
// source: https://github.com/OPM/opm-simulators/pull/4481 (compressing on the simulator's thread stalls it: move it to another one)
// source: https://github.com/grenaud/gargammel/issues/12 (compress in a process of its own, apart from the calculation)
// mechanism: each picture is written to a file, and gzip is started with system(), which returns when it has ended
// FIX=1: gzip runs in the background
// truth: {"cause": "the loop starts gzip for each picture and waits for it", "line_function": "pack", "line": 82, "also_ok": ["waiting for a child process in pack or save"], "half_ok": ["io or native code in save, without the child"], "lost_share": 0.65, "what": ["child"], "lines": [82, "pack", "save", 96, 122], "step": "a picture of main()", "step_line": 118, "warm_up_steps": 0, "step_ms": [15, 5.3], "saves_s": 5.2}
// build: nvcc -O2 -g -lineinfo
// clang-format on
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t result_ = (call);                                                              \
        if (result_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result_));       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const int SIZE = 2048, PICTURE = 512, INNER = 120, FRAMES = 4000, KEPT = 256;
static const double MAX_SECONDS = 8.0;
static bool fix;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

__global__ void start_pattern(float2 *field)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    bool seed = (x / 24 * 7919 + y / 24 * 104729) % 11 == 0;

    field[y * SIZE + x] = seed ? make_float2(0.5f, 0.25f) : make_float2(1.0f, 0.0f);
}

__global__ void react(const float2 *in, float2 *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int l = (x + SIZE - 1) % SIZE, r = (x + 1) % SIZE, u = (y + SIZE - 1) % SIZE,
        d = (y + 1) % SIZE;
    float2 c = in[y * SIZE + x], a = in[y * SIZE + l], b = in[y * SIZE + r], e = in[u * SIZE + x],
           f = in[d * SIZE + x];
    float spread_u = a.x + b.x + e.x + f.x - 4 * c.x, spread_v = a.y + b.y + e.y + f.y - 4 * c.y;
    float reaction = c.x * c.y * c.y;

    out[y * SIZE + x] = make_float2(c.x + 0.16f * spread_u - reaction + 0.035f * (1 - c.x),
                                    c.y + 0.08f * spread_v + reaction - 0.1f * c.y);
}

__global__ void draw(const float2 *field, uint8_t *picture)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int scale = SIZE / PICTURE;

    picture[y * PICTURE + x] = (uint8_t)min(255.0f, 400.0f * field[y * scale * SIZE + x * scale].y);
}

static void simulate(float2 **field, float2 **spare)
{
    dim3 block(32, 8), grid(SIZE / 32, SIZE / 8);

    for (int i = 0; i < INNER; i++) {
        react<<<grid, block>>>(*field, *spare);
        std::swap(*field, *spare);
    }
}

__attribute__((noinline)) static void pack(const std::string &path)
{
    std::string command = "gzip -f " + path + (fix ? " &" : "");

    if (system(command.c_str()) != 0) // <-- here
        fprintf(stderr, "%s failed\n", command.c_str());
}

__attribute__((noinline)) static void save(const std::string &folder, int frame,
                                           const uint8_t *picture)
{
    std::string path = folder + "/" + std::to_string(frame % KEPT) + ".raw";
    FILE *file = fopen(path.c_str(), "wb");

    if (!file || fwrite(picture, 1, PICTURE * PICTURE, file) != (size_t)PICTURE * PICTURE)
        fprintf(stderr, "cannot write %s\n", path.c_str());
    if (file)
        fclose(file);
    pack(path);
}

int main()
{
    fix = getenv("FIX") && !strcmp(getenv("FIX"), "1");
    char folder[] = "/tmp/gzip-pictures-XXXXXX";
    float2 *field, *spare;
    uint8_t *d_picture, *picture;

    if (!mkdtemp(folder))
        return 1;
    CHECK(cudaMalloc(&field, sizeof(float2) * SIZE * SIZE));
    CHECK(cudaMalloc(&spare, sizeof(float2) * SIZE * SIZE));
    CHECK(cudaMalloc(&d_picture, PICTURE * PICTURE));
    CHECK(cudaMallocHost(&picture, PICTURE * PICTURE));
    start_pattern<<<dim3(SIZE / 32, SIZE / 8), dim3(32, 8)>>>(field);
    for (int i = 0; i < 20; i++)
        simulate(&field, &spare);
    CHECK(cudaDeviceSynchronize());
    double start = now();
    int frame = 0;
    for (; frame < FRAMES && now() - start < MAX_SECONDS; frame++) {
        simulate(&field, &spare);
        draw<<<dim3(PICTURE / 32, PICTURE / 8), dim3(32, 8)>>>(field, d_picture);
        CHECK(cudaMemcpy(picture, d_picture, PICTURE * PICTURE, cudaMemcpyDeviceToHost));
        save(folder, frame, picture);
    }
    CHECK(cudaDeviceSynchronize());
    printf("done: %d steps in %.2f s, pixel %d\n", frame, now() - start,
           picture[PICTURE * PICTURE / 2]);
    std::string remove = std::string("sleep 0.2; rm -rf ") + folder;
    return system(remove.c_str()) != 0;
}
