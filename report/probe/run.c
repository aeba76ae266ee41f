/* The child: measures one row after the other and reports each through a pipe. */
#include "report/probe/probe.h"
#include "report/probe/stage.h"
#include "trace/futex.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GV_PROBE_ROUNDS     3
#define GV_PROBE_MORE       2 /* if the first rounds disagree */
#define GV_PROBE_ALL_ROUNDS (GV_PROBE_ROUNDS + GV_PROBE_MORE)
/* The kernel runs for this many times the call's own duration, up to a limit. */
#define GV_PROBE_OUTLAST    3
#define GV_PROBE_LONGEST_NS 600000000ll
/* From entering the other thread's call to its wait; a load takes 0.2 ms on an idle GPU. */
#define GV_PROBE_INSIDE_US 5000
/* So long the other thread must stay inside its call to keep anybody out visibly. */
#define GV_PROBE_HELD_LEAST_NS 3000000

struct gv_probe_call {
    enum gv_probe_beside beside;
    int (*prepare)(struct gv_probe_stage *stage);
    int (*act)(struct gv_probe_stage *stage);
    int (*clean)(struct gv_probe_stage *stage);
};

static const struct gv_probe_call probe_calls[] = {
#define GV_PROBE_CALL(beside, cause, call, what, prepare, act, clean)                              \
    {GV_PROBE_BESIDE_##beside, gv_probe_##prepare, gv_probe_##act, gv_probe_##clean},
#include "report/probe/calls.def"
};

struct gv_probe_round {
    int64_t took_ns;
    bool waited;
    int64_t held_ns; /* how long the other thread was inside its call, with an idle GPU */
    bool void_;      /* the other thread was not inside its call long enough */
};

/* What the second thread does; only `act` is a time inside a call. */
static const struct gv_probe_call probe_holders[] = {
#define GV_PROBE_BESIDE(name, text, prepare, act, clean)                                           \
    {GV_PROBE_BESIDE_##name, gv_probe_##prepare, gv_probe_##act, gv_probe_##clean},
#include "report/probe/calls.def"
};

struct gv_probe_holder {
    const struct gv_probe_call *does;
    struct gv_probe_stage stage; /* a copy, with its own `made` */
    pthread_t thread;
    _Atomic int64_t entered_ns; /* 0: not yet */
    _Atomic int64_t left_ns;
    int error;
};

static void *probe_hold(void *context)
{
    struct gv_probe_holder *holder = context;
    int error = (int)GV_CUDA(cuCtxSetCurrent)(holder->stage.context);

    if (!error)
        error = holder->does->prepare(&holder->stage);
    atomic_store(&holder->entered_ns, (int64_t)gv_monotonic_ns());
    if (!error)
        error = holder->does->act(&holder->stage);
    atomic_store(&holder->left_ns, (int64_t)gv_monotonic_ns());
    if (!error)
        error = holder->does->clean(&holder->stage);
    holder->error = error;
    return NULL;
}

/* Returns when the thread is about to spend some milliseconds inside its call. */
static int probe_holder_start(struct gv_probe_holder *holder, struct gv_probe_stage *stage,
                              enum gv_probe_beside beside)
{
    memset(holder, 0, sizeof(*holder));
    gv_probe_code_renew(stage, &stage->loader);
    holder->does = &probe_holders[beside];
    holder->stage = *stage;
    memset(&holder->stage.made, 0, sizeof(holder->stage.made));
    if (pthread_create(&holder->thread, NULL, probe_hold, holder))
        return CUDA_ERROR_OUT_OF_MEMORY;
    while (!atomic_load(&holder->entered_ns))
        usleep(100);
    usleep(GV_PROBE_INSIDE_US);
    return CUDA_SUCCESS;
}

/* Joins the other thread, and says what its call means for the round. */
static int probe_holder_end(struct gv_probe_holder *holder, int64_t start_ns, int64_t kernel_ns,
                            struct gv_probe_round *round)
{
    int64_t held_ns;

    pthread_join(holder->thread, NULL);
    held_ns = holder->left_ns - holder->entered_ns;
    if (kernel_ns) {
        round->void_ = holder->left_ns < start_ns || held_ns < kernel_ns / 2;
    } else {
        round->held_ns = held_ns;
        round->void_ = holder->left_ns - start_ns < GV_PROBE_HELD_LEAST_NS;
        round->waited = round->took_ns >= (holder->left_ns - start_ns) / 2;
    }
    return holder->error;
}

/* Times the call; alone if kernel_ns is 0. */
static int probe_act(struct gv_probe_stage *stage, const struct gv_probe_call *call,
                     int64_t kernel_ns, struct gv_probe_round *round)
{
    static struct gv_probe_holder holder;
    bool held = kernel_ns && call->beside != GV_PROBE_BESIDE_GPU;
    int64_t start_ns;
    int error = 0;

    if (call->beside > GV_PROBE_BESIDE_LOAD)
        kernel_ns = 0;
    if (kernel_ns)
        error = gv_probe_stage_busy(stage, kernel_ns);
    if (!error && held)
        error = probe_holder_start(&holder, stage, call->beside);
    if (error)
        return error;
    start_ns = (int64_t)gv_monotonic_ns();
    error = call->act(stage);
    round->took_ns = (int64_t)gv_monotonic_ns() - start_ns;
    if (kernel_ns)
        round->waited = GV_CUDA(cuEventQuery)(stage->ended) != CUDA_ERROR_NOT_READY;
    if (held) {
        int holder_error = probe_holder_end(&holder, start_ns, kernel_ns, round);
        error = error ? error : holder_error;
    }
    return error;
}

static int probe_round(struct gv_probe_stage *stage, const struct gv_probe_call *call,
                       int64_t kernel_ns, struct gv_probe_round *round)
{
    memset(round, 0, sizeof(*round));
    memset(&stage->made, 0, sizeof(stage->made));
    GV_PROBE_TRY(call->prepare(stage));
    GV_PROBE_TRY(GV_CUDA(cuCtxSynchronize)());
    GV_PROBE_TRY(probe_act(stage, call, kernel_ns, round));
    GV_PROBE_TRY(GV_CUDA(cuCtxSynchronize)());
    return call->clean(stage);
}

static int probe_compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static int64_t probe_median(int64_t *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), probe_compare);
    return values[count / 2];
}

/* The first round does what happens only once. */
static int probe_idle(struct gv_probe_stage *stage, const struct gv_probe_call *call,
                      struct gv_probe_row *row, int64_t *longest_ns)
{
    int64_t took_ns[GV_PROBE_ROUNDS];
    struct gv_probe_round round;

    GV_PROBE_TRY(probe_round(stage, call, 0, &round));
    for (int i = 0; i < GV_PROBE_ROUNDS; i++) {
        GV_PROBE_TRY(probe_round(stage, call, 0, &round));
        took_ns[i] = round.took_ns;
    }
    row->idle_ns = probe_median(took_ns, GV_PROBE_ROUNDS);
    *longest_ns = took_ns[GV_PROBE_ROUNDS - 1];
    return CUDA_SUCCESS;
}

static int probe_busy(struct gv_probe_stage *stage, const struct gv_probe_call *call,
                      struct gv_probe_row *row)
{
    int64_t took_ns[GV_PROBE_ALL_ROUNDS];
    struct gv_probe_round round;
    int wanted = GV_PROBE_ROUNDS, voids = 0, error = 0;
    int64_t held_ns = 0;

    while (row->rounds < wanted && !error) {
        error = probe_round(stage, call, row->kernel_ns, &round);
        if (!error && round.void_) {
            if (++voids > GV_PROBE_ROUNDS)
                error = GV_PROBE_UNCLEAR;
            continue;
        }
        held_ns = round.held_ns;
        took_ns[row->rounds++] = round.took_ns;
        row->waited += round.waited;
        if (row->rounds == GV_PROBE_ROUNDS && row->waited % GV_PROBE_ROUNDS)
            wanted = GV_PROBE_ALL_ROUNDS;
    }
    if (!error)
        row->busy_ns = probe_median(took_ns, row->rounds);
    if (held_ns)
        row->kernel_ns = held_ns;
    return error;
}

static void probe_row(struct gv_probe_stage *stage, const struct gv_probe_call *call,
                      int64_t kernel_ns, struct gv_probe_row *row)
{
    int64_t longest_ns = 0;
    int error = probe_idle(stage, call, row, &longest_ns);

    row->kernel_ns = kernel_ns;
    if (longest_ns * GV_PROBE_OUTLAST > kernel_ns)
        row->kernel_ns = longest_ns * GV_PROBE_OUTLAST;
    if (row->kernel_ns > GV_PROBE_LONGEST_NS)
        row->kernel_ns = GV_PROBE_LONGEST_NS;
    if (!error)
        error = probe_busy(stage, call, row);
    row->status = error == CUDA_ERROR_NOT_FOUND ? GV_PROBE_NOT_HERE : error;
}

static void probe_read_machine(const struct gv_probe_stage *stage, struct gv_probe_machine *machine)
{
    if (GV_CUDA(cuDeviceGetName)(machine->gpu, sizeof(machine->gpu), stage->device))
        strcpy(machine->gpu, "unknown");
    if (GV_CUDA(cuDriverGetVersion)(&machine->cuda_version))
        machine->cuda_version = 0;
    if (GV_CUDA(cudaRuntimeGetVersion)(&machine->runtime_version))
        machine->runtime_version = 0;
    gv_probe_driver_version(machine->driver, sizeof(machine->driver));
}

static void probe_send(int out, const struct gv_probe_message *message)
{
    if (write(out, message, sizeof(*message)) != (ssize_t)sizeof(*message))
        _exit(1);
}

static void probe_fail(int out, const char *text, int error) __attribute__((noreturn));
static void probe_fail(int out, const char *text, int error)
{
    struct gv_probe_message message = {.kind = GV_PROBE_FAILED, .error = error};

    snprintf(message.text, sizeof(message.text), "%s", text);
    probe_send(out, &message);
    _exit(1);
}

void gv_probe_run(const struct gv_probe_request *request, enum gv_probe_mode mode, int first,
                  int out)
{
    static struct gv_probe_stage stage;
    struct gv_probe_message message = {.kind = GV_PROBE_READY};
    int error;

    /* The compiler's cache would otherwise keep the code, and not compile it again. */
    if (setenv("CUDA_MODULE_LOADING", gv_probe_mode_names[mode], 1) ||
        setenv("CUDA_CACHE_DISABLE", "1", 1))
        _exit(1);
    if (gv_probe_driver_open())
        probe_fail(out, "this machine has no CUDA driver (libcuda.so.1)", 0);
    error = gv_probe_stage_open(&stage, request->gpu);
    if (error)
        probe_fail(out, "the GPU cannot be used", error);
    probe_read_machine(&stage, &message.machine);
    probe_send(out, &message);
    message.kind = GV_PROBE_ROW;
    for (int call = first; call < GV_PROBE_CALLS; call++) {
        memset(&message.row, 0, sizeof(message.row));
        message.call = call;
        probe_row(&stage, &probe_calls[call], request->kernel_ns, &message.row);
        probe_send(out, &message);
    }
    _exit(0);
}
