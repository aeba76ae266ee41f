// clang-format off
// Filters frames that eight threads decode, with one decoder under one mutex.
//
// mechanism: a frame takes 16 ms to decode, and the mutex is held meanwhile, so one thread decodes at a time; the GPU needs 3 ms for a frame
// FIX=1: each thread has a decoder of its own
// truth: {"cause": "the decoder's mutex is held for the whole decode, so the threads work one at a time", "line_function": "decode_frames", "line": 51, "also_ok": ["thread-lock where main waits for frames, if it says that other threads wait for a lock"], "half_ok": ["thread-lock without the other threads' lock"], "lost_share": 0.8, "what": ["thread-lock"], "lines": [51, "next_frame", "main"], "says": ["other threads wait for a lock (", "decode_frames); its holder: sleeping"]}
// clang-format on
#include "tests/programs/sim/program.h"

#include <pthread.h>

#define WORKERS 8
#define FRAMES  90

static struct program program;
static pthread_mutex_t decoder = PTHREAD_MUTEX_INITIALIZER;
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int ready, taken, wanted;
} frames = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, FRAMES};

/* Asks another chip, which takes its time. */
static void decode(void)
{
    const struct timespec takes = {.tv_nsec = 16000000};

    nanosleep(&takes, NULL);
}

static bool is_wanted(void)
{
    pthread_mutex_lock(&frames.mutex);
    bool wanted = frames.wanted-- > 0;
    pthread_mutex_unlock(&frames.mutex);
    return wanted;
}

static void put(void)
{
    pthread_mutex_lock(&frames.mutex);
    frames.ready++;
    pthread_cond_signal(&frames.changed);
    pthread_mutex_unlock(&frames.mutex);
}

__attribute__((noinline)) static void *decode_frames(void *unused)
{
    while (is_wanted()) {
        if (!program.fix)
            pthread_mutex_lock(&decoder); // <-- here
        decode();
        if (!program.fix)
            pthread_mutex_unlock(&decoder);
        put();
    }
    return unused;
}

__attribute__((noinline)) static void next_frame(void)
{
    pthread_mutex_lock(&frames.mutex);
    while (frames.ready == 0)
        pthread_cond_wait(&frames.changed, &frames.mutex);
    frames.ready--;
    pthread_mutex_unlock(&frames.mutex);
}

int main(void)
{
    pthread_t workers[WORKERS];

    program_open(&program);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, decode_frames, NULL);
    uint64_t start_ns = gv_clock_ns();
    for (int frame = 0; frame < FRAMES; frame++) {
        next_frame();
        CHECK(cuMemcpyHtoDAsync(program.memory, program.pinned, 4096, program.stream));
        for (int pass = 0; pass < 3; pass++)
            program_launch(&program, 1000);
    }
    CHECK(cuStreamSynchronize(program.stream));
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    return program_close(&program, FRAMES, start_ns, 0);
}
