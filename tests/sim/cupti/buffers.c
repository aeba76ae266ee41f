/*
 * The client's buffers: one being filled, and full ones that wait until their last record is
 * complete. A thread of the library returns those; a flush returns what is complete, or everything.
 * A record is never split over two buffers.
 */
#include "tests/sim/cupti/records.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 2000000

struct buffer {
    struct buffer *next;
    uint8_t *data;
    size_t size_bytes, used_bytes, records, records_max;
    uint64_t complete_ns; /* the latest of its records */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, delivered = PTHREAD_COND_INITIALIZER;
static struct buffer *filling, *spare, *full, **full_end = &full;
static bool worker_runs, worker_delivers;
static size_t dropped;
static _Atomic bool zeroed;
static CUpti_BuffersCallbackRequestFunc _Atomic request;
static CUpti_BuffersCallbackCompleteFunc _Atomic complete;
static _Thread_local int in_callback;

void gv_cupti_buffers_set(CUpti_BuffersCallbackRequestFunc asks,
                          CUpti_BuffersCallbackCompleteFunc gets)
{
    atomic_store(&complete, gets);
    atomic_store(&request, asks);
}

bool gv_cupti_buffers_ready(void)
{
    return atomic_load(&request) != NULL;
}

void gv_cupti_buffers_zeroed(bool promised)
{
    atomic_store(&zeroed, promised);
}

static bool is_zero(const uint8_t *data, size_t size_bytes)
{
    return !size_bytes || (!data[0] && !memcmp(data, data + 1, size_bytes - 1));
}

/* No lock is held. */
static struct buffer *buffer_new(void)
{
    struct buffer *b = calloc(1, sizeof *b);
    CUpti_BuffersCallbackRequestFunc ask = atomic_load(&request);
    if (!b || !ask) {
        free(b);
        return NULL;
    }
    in_callback++;
    ask(&b->data, &b->size_bytes, &b->records_max);
    in_callback--;
    if (gv_cupti_settings.ask_us)
        usleep((useconds_t)gv_cupti_settings.ask_us);
    if (!b->data)
        gv_cupti_die("a client gave no buffer");
    if ((uintptr_t)b->data % 8)
        gv_cupti_die("a client's buffer is not aligned to 8 bytes");
    if (!atomic_load(&zeroed))
        memset(b->data, 0, b->size_bytes);
    else if (!is_zero(b->data, b->size_bytes))
        gv_cupti_die("a client promised zeroed buffers and gave another one");
    return b;
}

/* Records that are not complete yet have no times. */
static void forget_unfinished(struct buffer *b)
{
    uint64_t now_ns = gv_cupti_clock_now();
    for (size_t at = 0; at < b->used_bytes;) {
        CUpti_ActivityKind kind;
        memcpy(&kind, b->data + at, sizeof kind);
        size_t start = gv_cupti_record_start(kind);
        uint64_t times[2];
        if (start) {
            memcpy(times, b->data + at + start, sizeof times);
            if (times[1] > now_ns)
                memset(b->data + at + start, 0, sizeof times);
        }
        at += gv_cupti_record_bytes(kind);
    }
}

/* No lock is held. Frees the list. */
static void deliver(struct buffer *list, bool forced)
{
    CUpti_BuffersCallbackCompleteFunc give = atomic_load(&complete);
    while (list) {
        struct buffer *b = list;
        list = b->next;
        if (forced)
            forget_unfinished(b);
        in_callback++;
        give(NULL, 0, b->data, b->size_bytes, b->used_bytes);
        in_callback--;
        free(b);
    }
}

/* With the lock held: takes the full buffers that are complete, or all, off their list. */
static struct buffer *take_full(bool all)
{
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    uint64_t now_ns = driver->now_ns();
    struct buffer *list = NULL, **end = &list;
    for (struct buffer **at = &full; *at;) {
        struct buffer *b = *at;
        if (!all && b->complete_ns > now_ns) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        b->next = NULL;
        *end = b;
        end = &b->next;
    }
    for (full_end = &full; *full_end; full_end = &(*full_end)->next)
        continue;
    return list;
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!full)
            pthread_cond_wait(&wake, &lock);
        struct buffer *list = take_full(false);
        worker_delivers = list != NULL;
        pthread_mutex_unlock(&lock);
        deliver(list, false);
        if (!list)
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        pthread_mutex_lock(&lock);
        worker_delivers = false;
        pthread_cond_broadcast(&delivered);
    }
    return NULL;
}

/* With the lock held. */
static void retire(struct buffer *b)
{
    pthread_t thread;
    sigset_t all, old;
    *full_end = b;
    full_end = &b->next;
    if (!worker_runs) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        worker_runs = !pthread_create(&thread, NULL, work, NULL);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (worker_runs)
            pthread_detach(thread);
        else
            gv_cupti_complain("no thread to deliver buffers");
    }
    pthread_cond_signal(&wake);
}

static bool fits(const struct buffer *b, size_t size_bytes)
{
    return b->size_bytes - b->used_bytes >= size_bytes &&
           (!b->records_max || b->records < b->records_max);
}

void gv_cupti_record_add(const void *record, size_t size_bytes, uint64_t complete_ns)
{
    pthread_mutex_lock(&lock);
    while (!filling || !fits(filling, size_bytes)) {
        if (filling && !filling->used_bytes)
            gv_cupti_die("a client's buffer does not hold a single record");
        if (filling)
            retire(filling);
        filling = spare;
        spare = NULL;
        if (filling)
            continue;
        pthread_mutex_unlock(&lock);
        struct buffer *b = buffer_new();
        pthread_mutex_lock(&lock);
        if (!b) {
            dropped++;
            pthread_mutex_unlock(&lock);
            return;
        }
        if (filling && !spare)
            spare = b;
        else if (filling)
            retire(b); /* three threads asked at once; it is returned empty */
        else
            filling = b;
    }
    memcpy(filling->data + filling->used_bytes, record, size_bytes);
    filling->used_bytes += size_bytes;
    filling->records++;
    if (complete_ns > filling->complete_ns)
        filling->complete_ns = complete_ns;
    pthread_mutex_unlock(&lock);
}

void gv_cupti_record_dropped(void)
{
    pthread_mutex_lock(&lock);
    dropped++;
    pthread_mutex_unlock(&lock);
}

size_t gv_cupti_dropped_take(void)
{
    pthread_mutex_lock(&lock);
    size_t count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return count;
}

/* Returns when the client has every buffer that is due; after a forced flush, every one. Both
 * wait while another thread's load, free or blocking copy waits for the GPU (measured: CUPTI
 * 13.0, driver 580), but not for a synchronisation, an unload or a launch into a full queue. */
void gv_cupti_flush(bool forced)
{
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    if (in_callback)
        gv_cupti_die("a client flushes in a buffer callback");
    driver->settle();
    pthread_mutex_lock(&lock);
    if (filling && (forced || (filling->used_bytes && filling->complete_ns <= driver->now_ns()))) {
        *full_end = filling;
        full_end = &filling->next;
        filling = NULL;
    }
    if (forced && spare) {
        *full_end = spare;
        full_end = &spare->next;
        spare = NULL;
    }
    struct buffer *list = take_full(forced);
    pthread_mutex_unlock(&lock);
    deliver(list, forced);
    pthread_mutex_lock(&lock);
    while (worker_delivers)
        pthread_cond_wait(&delivered, &lock);
    pthread_mutex_unlock(&lock);
}

void gv_cupti_buffers_forget(void)
{
    pthread_mutex_lock(&lock);
    if (filling) {
        *full_end = filling;
        full_end = &filling->next;
    }
    if (spare) {
        *full_end = spare;
        full_end = &spare->next;
    }
    filling = spare = NULL;
    struct buffer *list = take_full(true);
    pthread_mutex_unlock(&lock);
    while (list) {
        struct buffer *b = list;
        list = b->next;
        free(b);
    }
    gv_cupti_buffers_set(NULL, NULL);
}
