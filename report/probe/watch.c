/* Starts the probe's children, collects their results, and stops those that hang. */
#include "report/probe/probe.h"
#include "report/show/message.h"
#include "trace/futex.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct gv_probe_child {
    pid_t pid;
    int in;
    int next; /* the current row */
    bool ready;
};

static int64_t probe_now_ms(void)
{
    return (int64_t)(gv_monotonic_ns() / 1000000);
}

static int probe_child_start(struct gv_probe_child *child, const struct gv_probe_request *request,
                             enum gv_probe_mode mode)
{
    pid_t parent = getpid();
    int ends[2];

    if (pipe(ends))
        return -errno;
    child->ready = false;
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
            _exit(1);
        gv_probe_run(request, mode, child->next, ends[1]);
    }
    close(ends[1]);
    if (child->pid < 0) {
        int error = -errno;
        close(ends[0]);
        return error;
    }
    child->in = ends[0];
    return 0;
}

/* A process inside the driver may take a while to end after the kill. */
static void probe_child_end(struct gv_probe_child *child)
{
    kill(child->pid, SIGKILL);
    close(child->in);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* 1: a message; 0: no more messages; -ETIMEDOUT. */
static int probe_child_read(struct gv_probe_child *child, int64_t limit_ms,
                            struct gv_probe_message *message)
{
    struct pollfd poll_in = {.fd = child->in, .events = POLLIN};
    int64_t until_ms = probe_now_ms() + limit_ms, left_ms = limit_ms;
    int ready = -1;

    while (ready < 0) {
        ready = poll(&poll_in, 1, left_ms > 0 ? (int)left_ms : 0);
        if (ready < 0 && errno != EINTR)
            return -errno;
        left_ms = until_ms - probe_now_ms();
    }
    if (ready == 0)
        return -ETIMEDOUT;
    return read(child->in, message, sizeof(*message)) == (ssize_t)sizeof(*message);
}

/* On a terminal: one line, which is gone at the end. */
static void probe_show(const struct gv_probe_child *child, enum gv_probe_mode mode)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kgpuverify: measured %d of %d",
                (int)mode * GV_PROBE_CALLS + child->next, GV_PROBE_MODES * GV_PROBE_CALLS);
}

static void probe_show_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static int probe_take(struct gv_probe_child *child, const struct gv_probe_message *message,
                      enum gv_probe_mode mode, struct gv_probe_result *result)
{
    if (message->kind == GV_PROBE_FAILED) {
        if (message->error)
            gv_message("nothing can be measured: %s (CUDA error %d)", message->text,
                       message->error);
        else
            gv_message("nothing can be measured: %s", message->text);
        return -ENODEV;
    }
    if (message->kind == GV_PROBE_READY) {
        child->ready = true;
        result->machine = message->machine;
    } else {
        result->rows[mode][message->call] = message->row;
        child->next = message->call + 1;
        probe_show(child, mode);
    }
    return 0;
}

/* Runs one child to its end. The row that stopped it gets the reason. */
static int probe_follow(struct gv_probe_child *child, const struct gv_probe_limits *limits,
                        enum gv_probe_mode mode, int64_t end_ms, struct gv_probe_result *result)
{
    struct gv_probe_message message;
    int error = 0;

    while (child->next < GV_PROBE_CALLS && !error) {
        int64_t limit_ms = child->ready ? limits->call_ms : limits->start_ms;
        int64_t left_ms = end_ms - probe_now_ms();
        int got = probe_child_read(child, left_ms < limit_ms ? left_ms : limit_ms, &message);
        if (got == 1) {
            error = probe_take(child, &message, mode, result);
            continue;
        }
        if (!child->ready) {
            gv_message("nothing can be measured: the driver %s before the first call",
                       got ? "did not answer" : "ended the process");
            return -ENODEV;
        }
        if (probe_now_ms() >= end_ms)
            return -ETIMEDOUT;
        result->rows[mode][child->next++].status = got ? GV_PROBE_HUNG : GV_PROBE_DIED;
        return 0;
    }
    return error;
}

static int probe_measure_mode(const struct gv_probe_request *request, enum gv_probe_mode mode,
                              int64_t end_ms, struct gv_probe_result *result)
{
    struct gv_probe_child child = {0};
    int error = 0;

    while (child.next < GV_PROBE_CALLS && !error) {
        error = probe_child_start(&child, request, mode);
        if (error) {
            gv_message("cannot start a process: %s", strerror(-error));
            return error;
        }
        error = probe_follow(&child, &request->limits, mode, end_ms, result);
        probe_child_end(&child);
    }
    return error;
}

int gv_probe_measure(const struct gv_probe_request *request, struct gv_probe_result *result)
{
    int64_t start_ms = probe_now_ms();
    int error = 0;

    memset(result, 0, sizeof(*result));
    for (int mode = 0; mode < GV_PROBE_MODES; mode++)
        for (int call = 0; call < GV_PROBE_CALLS; call++)
            result->rows[mode][call].status = GV_PROBE_NOT_REACHED;
    result->when = time(NULL);
    result->kernel_ns = request->kernel_ns;
    for (int mode = 0; mode < GV_PROBE_MODES && !error; mode++)
        error = probe_measure_mode(request, (enum gv_probe_mode)mode,
                                   start_ms + request->limits.whole_ms, result);
    probe_show_end();
    if (error == -ETIMEDOUT) {
        gv_message("time ran out before all calls were measured");
        error = 0;
    }
    result->took_ns = (probe_now_ms() - start_ms) * 1000000;
    return error;
}

bool gv_probe_waits(const struct gv_probe_row *row)
{
    return row->status == GV_PROBE_MEASURED && row->waited * 2 > row->rounds;
}
