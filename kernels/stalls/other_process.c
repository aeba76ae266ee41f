/*
 * A call asks the kernel driver while another process keeps it: that process frees memory, or ends.
 * Built once for each such call: other_process_alloc, other_process_pin, other_process_info, and
 * other_process_end. `idle`: the other process only keeps the GPU busy.
 */
#include "kernels/stalls/stage.h"
#include "kernels/stalls/timed_calls.h"

#include <sys/wait.h>
#include <unistd.h>

#define OTHER_ALLOC 1
#define OTHER_PIN   2
#define OTHER_INFO  3
#define OTHER_END   4

#define ALLOC_BYTES  ((size_t)64 << 20)
#define PINNED_BYTES ((size_t)4 << 20)
#define ENDED_BYTES  ((size_t)256 << 20)
/* A call that the other process's end holds takes so long, and comes within this time. */
#define HELD_MS 12
#define END_MS  1500

static struct gv_stage stage;

static void say(int pipe)
{
    if (write(pipe, "x", 1) != 1)
        _exit(1);
}

static void hear(int pipe)
{
    char word;

    if (read(pipe, &word, 1) != 1)
        _exit(1);
}

/* Has much memory when it is told to start, and gives it back when it is told to. */
static int other(int argc, char **argv, int in, int out)
{
    size_t left, all;
    CUdeviceptr memory;
    void *pinned;

    hear(in);
    gv_stage_open(&stage, argc, argv);
    CHECK(cuMemGetInfo(&left, &all));
    CHECK(cuMemAlloc(&memory, left / 5 * 2));
    if (OTHER_CALL == OTHER_END)
        CHECK(cuMemAllocHost(&pinned, ENDED_BYTES));
    say(out);
    hear(in);
    if (stage.idle)
        gv_stage_spin(stage.spin, stage.stream, stage.busy_ms);
    say(out);
    if (OTHER_CALL == OTHER_END && !stage.idle)
        return 0;
    if (!stage.idle)
        CHECK(cuMemFree(memory));
    hear(in);
    return gv_stage_close(&stage);
}

/* What the calls usually take: nobody holds them here. */
static void call_often(void *host)
{
    CUdeviceptr memory;

    for (int i = 0; i < 8; i++) {
        if (OTHER_CALL == OTHER_ALLOC) {
            CHECK(cuMemAlloc(&memory, ALLOC_BYTES));
            CHECK(cuMemFree(memory));
        } else if (OTHER_CALL == OTHER_PIN) {
            CHECK(cuMemHostRegister(host, PINNED_BYTES, 0));
            CHECK(cuMemHostUnregister(host));
        }
    }
}

/* Asks until a call was held. */
static void ask_until_held(void)
{
    uint64_t start_ns = gv_clock_ns();
    unsigned slow = 0;
    double ms = 0;

    printf("timing begins after cuCtxSynchronize\n");
    while (ms < HELD_MS &&
           gv_clock_ms_since(start_ns) < (stage.idle ? (double)stage.busy_ms : END_MS)) {
        size_t left, all;
        uint64_t call_ns = gv_clock_ns();

        CHECK(cuMemGetInfo(&left, &all));
        ms = gv_clock_ms_since(call_ns);
        if (ms >= HELD_MS)
            gv_stage_say("behind", "cuMemGetInfo", ms);
        else
            slow = gv_slow_count(slow, "cuMemGetInfo", call_ns);
        usleep(200);
    }
}

int main(int argc, char **argv)
{
    int to[2], from[2], status = 0;
    CUdeviceptr memory;
    size_t left, all;
    void *host = NULL;

    if (pipe(to) < 0 || pipe(from) < 0 || posix_memalign(&host, 4096, PINNED_BYTES) != 0)
        return 1;
    memset(host, 0, PINNED_BYTES);
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0)
        return other(argc, argv, to[0], from[1]);
    gv_stage_open(&stage, argc, argv);
    say(to[1]);
    hear(from[0]);
    call_often(host);
    CHECK(cuCtxSynchronize());
    say(to[1]);
    hear(from[0]);
    usleep(1000); /* it is inside the call now */
    if (OTHER_CALL == OTHER_ALLOC)
        TIMED("behind", cuMemAlloc, (&memory, ALLOC_BYTES));
    else if (OTHER_CALL == OTHER_PIN)
        TIMED("behind", cuMemHostRegister, (host, PINNED_BYTES, 0));
    else if (OTHER_CALL == OTHER_INFO)
        TIMED("behind", cuMemGetInfo, (&left, &all));
    else
        ask_until_held();
    TIMED("launch", cuLaunchKernel, (stage.empty, 1, 1, 1, 1, 1, 1, 0, stage.other, NULL, NULL));
    if (OTHER_CALL != OTHER_END || stage.idle)
        say(to[1]);
    if (waitpid(child, &status, 0) < 0 || status != 0)
        return 1;
    return gv_stage_close(&stage);
}
