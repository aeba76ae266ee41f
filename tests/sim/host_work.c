/*
 * Host functions and stream callbacks. One thread calls each at the time at which its stream has
 * reached it. A slow function delays what is behind it when it returns.
 *
 * Each piece of work has a number; "pending" means that it has not returned. They run in order
 * within a stream, so waiting for the last one waits for all.
 */
#include "tests/sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct work {
    struct work *next; /* by time */
    uint64_t number, due_ns;
    uint64_t late_ns; /* of its stream, when it was queued: its due time has that */
    struct gv_sim_stream *stream;
    struct gv_sim_context *context;
    CUhostFn function;
    CUstreamCallback callback;
    void *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* on the monotonic clock */
static struct work *queue, *running;
static uint64_t last_number;
static _Atomic unsigned pending_count;
static bool started;

static void run(struct work *w)
{
    pthread_mutex_unlock(&lock);
    if (w->function)
        w->function(w->data);
    else
        w->callback((CUstream)w->stream, CUDA_SUCCESS, w->data);
    uint64_t now = gv_sim_now_ns();
    if (gv_sim_is(w->stream, GV_SIM_STREAM)) {
        /* Those before it were late, too: that counts once. */
        uint64_t due = w->due_ns + w->stream->late_ns - w->late_ns;
        uint64_t late = now > due ? now - due : 0;
        uint64_t end = atomic_load(&w->stream->end_ns) + late;
        w->stream->late_ns += late;
        gv_sim_raise(&w->stream->end_ns, end);
        gv_sim_raise(&w->context->end_ns, end);
        if (w->stream->blocking)
            gv_sim_raise(&w->context->blocking_end_ns, end);
    }
    pthread_mutex_lock(&lock);
}

static void *executor(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        if (!queue) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        uint64_t due = queue->due_ns;
        if (due > gv_sim_now_ns()) {
            struct timespec at = {.tv_sec = (time_t)(due / 1000000000u),
                                  .tv_nsec = (long)(due % 1000000000u)};
            pthread_cond_timedwait(&changed, &lock, &at);
            continue;
        }
        running = queue;
        queue = running->next;
        run(running);
        free(running);
        running = NULL;
        atomic_fetch_sub(&pending_count, 1);
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

/* Called with the lock held. Our thread blocks the program's signals. */
static int start(void)
{
    if (started)
        return 0;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &clock);
    pthread_condattr_destroy(&clock);
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    int error = pthread_create(&thread, NULL, executor, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error)
        return -error;
    pthread_detach(thread);
    started = true;
    return 0;
}

uint64_t gv_sim_host_queue(struct gv_sim_stream *stream, uint64_t due_ns, CUhostFn function,
                           CUstreamCallback callback, void *data)
{
    struct work *w = calloc(1, sizeof *w);
    if (!w)
        return 0;
    *w = (struct work){.due_ns = due_ns,
                       .late_ns = stream->late_ns,
                       .stream = stream,
                       .context = stream->context,
                       .function = function,
                       .callback = callback,
                       .data = data};
    pthread_mutex_lock(&lock);
    if (start()) {
        pthread_mutex_unlock(&lock);
        free(w);
        return 0;
    }
    uint64_t number = w->number = ++last_number;
    struct work **at = &queue;
    while (*at && (*at)->due_ns <= due_ns)
        at = &(*at)->next;
    w->next = *at;
    *at = w;
    atomic_fetch_add(&pending_count, 1);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    atomic_store(&stream->host_work, number);
    return number;
}

static bool is_pending(uint64_t number)
{
    if (running && running->number == number)
        return true;
    for (struct work *w = queue; w; w = w->next)
        if (w->number == number)
            return true;
    return false;
}

bool gv_sim_host_pending(uint64_t work)
{
    if (!work || !atomic_load(&pending_count))
        return false;
    pthread_mutex_lock(&lock);
    bool pending = is_pending(work);
    pthread_mutex_unlock(&lock);
    return pending;
}

void gv_sim_host_wait(uint64_t work)
{
    if (!work || !atomic_load(&pending_count))
        return;
    pthread_mutex_lock(&lock);
    while (is_pending(work))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static bool context_pending(const struct gv_sim_context *context)
{
    if (running && running->context == context)
        return true;
    for (struct work *w = queue; w; w = w->next)
        if (w->context == context)
            return true;
    return false;
}

void gv_sim_host_drain(struct gv_sim_context *context)
{
    if (!atomic_load(&pending_count))
        return;
    pthread_mutex_lock(&lock);
    while (context_pending(context))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    gv_sim_wait_until(atomic_load(&context->end_ns));
}
