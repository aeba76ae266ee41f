// clang-format off
// Serves tiles: threads render them with one renderer, and encode them.
//
// mechanism: the renderer's mutex is still held while a tile is encoded for 5 ms; the other threads wait for it, and nobody gives the GPU any work
// FIX=1: the mutex is released before that
// truth: {"cause": "the renderer's mutex is held while the tile is encoded", "line_function": "serve_tile", "line": 41, "also_ok": [], "half_ok": ["native code without the lock"], "lost_share": 0.7, "what": ["native"], "lines": [41, "serve_tile"], "parallel": true, "says": ["(cuStreamSynchronize) and here, while ", " other threads wait for a lock (", " serve_tile) that this thread holds"]}
// clang-format on
#include "tests/programs/sim/program.h"

#include <pthread.h>

#define WORKERS 4
#define TILES   180

static struct program program;
static pthread_mutex_t renderer = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int next_tile;

/* Computes for 5 ms of the thread's time. */
__attribute__((noinline)) static double encode(double state)
{
    uint64_t start_ns = program_cpu_ns();

    while (program_cpu_ns() - start_ns < 5000000u)
        for (int i = 1; i < 1000; i++)
            state += 1.0 / (i + state * state);
    return state;
}

__attribute__((noinline)) static double serve_tile(double state)
{
    uint64_t ns = 2000000;
    void *parameters[] = {&ns};

    pthread_mutex_lock(&renderer);
    CHECK(cuLaunchKernel(program.spin, 2112, 1, 1, 256, 1, 1, 0, program.stream, parameters, NULL));
    CHECK(cuMemcpyDtoHAsync(program.pinned, program.memory, 4096, program.stream));
    CHECK(cuStreamSynchronize(program.stream));
    if (program.fix)
        pthread_mutex_unlock(&renderer);
    state = encode(state); // <-- here
    if (!program.fix)
        pthread_mutex_unlock(&renderer);
    return state;
}

static void *serve(void *unused)
{
    CHECK(cuCtxSetCurrent(program.context));
    for (double state = 1; next_tile++ < TILES;)
        state = serve_tile(state);
    return unused;
}

int main(void)
{
    pthread_t workers[WORKERS];

    program_open(&program);
    uint64_t start_ns = gv_clock_ns();
    for (int i = 1; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, serve, NULL);
    serve(NULL);
    for (int i = 1; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return program_close(&program, TILES, start_ns, 0);
}
