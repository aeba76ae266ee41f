#include "cupti/buffers.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define READY 8u /* buffers that should always be free */

/*
 * CUPTI hands a buffer over when it is full, or when a flush finds all of it complete: on a GPU
 * that is never idle, only when it is full. What a killed program loses is the buffer being filled,
 * which is why one is to be filled in less than the flush takes to come round, and is not larger
 * than the rate of records asks for.
 */
#define LEAST_BYTES (16u * 1024u)
#define SOON_NS     5000000u  /* asked for again within that: twice as much */
#define LATE_NS     50000000u /* not before that: half as much */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gv_buffer *free_buffers;
static uint32_t free_count;
/* What CUPTI has: given since the last mark, given[turn], and before. Under the lock. */
static uint32_t given[2];
static uint8_t turn;
static size_t size_bytes = LEAST_BYTES;
static uint64_t asked_ns;
static struct gv_buffer *full_first, **full_last = &full_first;

/* When there is no memory at all: what comes into it, at once from several sides, is not read. */
static _Atomic uint64_t unread;
static uint8_t last_resort[GV_BUFFER_BYTES] __attribute__((aligned(64)));

static struct gv_buffer *map_buffer(int flags)
{
    void *memory = mmap(NULL, sizeof(struct gv_buffer) + GV_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void give_back(struct gv_buffer *buffer)
{
    pthread_mutex_lock(&lock);
    buffer->next = free_buffers;
    free_buffers = buffer;
    free_count++;
    pthread_mutex_unlock(&lock);
}

static struct gv_buffer *get_free(void)
{
    struct gv_buffer *buffer;

    pthread_mutex_lock(&lock);
    buffer = free_buffers;
    if (buffer) {
        free_buffers = buffer->next;
        free_count--;
    }
    pthread_mutex_unlock(&lock);
    return buffer;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How large the next one is. The lock is held. */
static size_t next_size_bytes(void)
{
    uint64_t now_ns = monotonic_ns();

    if (now_ns - asked_ns < SOON_NS && size_bytes < GV_BUFFER_BYTES)
        size_bytes *= 2;
    else if (now_ns - asked_ns > LATE_NS && size_bytes > LEAST_BYTES)
        size_bytes /= 2;
    asked_ns = now_ns;
    return size_bytes;
}

static size_t count_given(struct gv_buffer *buffer)
{
    size_t bytes;

    pthread_mutex_lock(&lock);
    buffer->turn = turn;
    given[turn]++;
    bytes = next_size_bytes();
    pthread_mutex_unlock(&lock);
    return bytes;
}

void gv_buffers_refill(void)
{
    for (;;) {
        struct gv_buffer *buffer;
        uint32_t count;

        pthread_mutex_lock(&lock);
        count = free_count;
        pthread_mutex_unlock(&lock);
        if (count >= READY)
            return;
        buffer = map_buffer(MAP_POPULATE);
        if (!buffer)
            return;
        give_back(buffer);
    }
}

int gv_buffers_prepare(void)
{
    gv_buffers_refill();
    return free_count > 0 ? 0 : -ENOMEM;
}

void CUPTIAPI gv_buffers_give(uint8_t **data, size_t *bytes, size_t *records_most)
{
    struct gv_buffer *buffer = get_free();

    if (!buffer)
        buffer = map_buffer(0);
    *bytes = buffer ? count_given(buffer) : GV_BUFFER_BYTES;
    *data = buffer ? buffer->data : last_resort;
    *records_most = 0;
}

void CUPTIAPI gv_buffers_take(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                              size_t used)
{
    struct gv_buffer *buffer;

    (void)context;
    (void)stream;
    (void)bytes;
    if (data == last_resort)
        atomic_fetch_add_explicit(&unread, used ? 1 : 0, memory_order_relaxed);
    if (!data || data == last_resort)
        return;
    buffer = (struct gv_buffer *)(void *)(data - offsetof(struct gv_buffer, data));
    buffer->used = used;
    buffer->next = NULL;
    pthread_mutex_lock(&lock);
    given[buffer->turn]--;
    *full_last = buffer;
    full_last = &buffer->next;
    pthread_mutex_unlock(&lock);
}

void gv_buffers_mark(void)
{
    pthread_mutex_lock(&lock);
    turn ^= 1;
    pthread_mutex_unlock(&lock);
}

uint32_t gv_buffers_marked(void)
{
    pthread_mutex_lock(&lock);
    uint32_t left = given[turn ^ 1];
    pthread_mutex_unlock(&lock);
    return left;
}

uint64_t gv_buffers_unread(void)
{
    return atomic_exchange(&unread, 0);
}

struct gv_buffer *gv_buffers_full(void)
{
    struct gv_buffer *first;

    pthread_mutex_lock(&lock);
    first = full_first;
    full_first = NULL;
    full_last = &full_first;
    pthread_mutex_unlock(&lock);
    return first;
}

void gv_buffers_recycle(struct gv_buffer *buffer)
{
    memset(buffer->data, 0, buffer->used);
    give_back(buffer);
}
