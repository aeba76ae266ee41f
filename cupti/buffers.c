#include "cupti/buffers.h"

#include "cupti/output.h"
#include "trace/futex.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READY 8u  /* buffers that should always be free */
#define FREE  16u /* most buffers in the pool */
#define MANY  4u  /* full ones, 1 MB of the program's memory at most */

/*
 * CUPTI returns a buffer when it is full, or when a flush finds everything in it complete. On a GPU
 * that is never idle, only full buffers come back. A killed program loses the buffer in use. So a
 * buffer is only as large as the rate of records requires, and should fill up between two flushes.
 */
#define LEAST_BYTES (16u * 1024u)
#define SOON_NS     5000000u  /* requested again within this time: twice the size */
#define LATE_NS     50000000u /* not requested for this long: half the size */

/* Each slot is emptied and filled by one exchange. */
static _Atomic(struct gv_buffer *) free_buffers[FREE];
/* The newest first. All are taken at once, so that none comes back while another thread looks. */
static _Atomic(struct gv_buffer *) full_buffers;
static _Atomic uint32_t full_count; /* in that list; an estimate that is never too low */
/* The buffers that CUPTI has. More of them than its threads can ask for at a time. */
#define GIVEN 1024u
static _Atomic(struct gv_buffer *) given[GIVEN];
/* In the slot of one that is just coming back: that one may already be read, unmapped, or given
 * again. */
static struct gv_buffer returning;
static _Atomic uint8_t turn;
static const struct gv_gpu_other *other;
static _Atomic bool is_left;          /* CUPTI's records are for the other profiler */
static _Atomic uint32_t others_given; /* its buffers that CUPTI has */
/* Estimates: threads that ask at the same time may spoil them, and the next one corrects them. */
static _Atomic size_t size_bytes = LEAST_BYTES;
static _Atomic uint64_t asked_ns;

/*
 * For a time without memory: address space from the start, whose pages are used only then. Nobody
 * reads these buffers, but each is zeroed and has one user at a time: CUPTI finds its records in
 * them. If CUPTI has all of them, a thread that asks waits until a flush brings one back. Only if
 * that is in vain, it gets the last one again.
 */
#define RESERVED         256u
#define RESERVE_PATIENCE 1000 /* steps */
#define RESERVE_STEP_NS  1000000u
static uint8_t (*reserve)[LEAST_BYTES];
static _Atomic bool reserve_given[RESERVED];
static _Atomic uint32_t reserve_taken; /* back from CUPTI */
static _Atomic bool is_in_vain;
static void (*hurry)(void);
static _Atomic uint64_t unread;

/* A thread sanitizer has these: what was done with a buffer until it is given back happens before
 * what is done with it once it is given out. */
#define WEAK __attribute__((weak))
void AnnotateHappensBefore(const char *file, int line, const volatile void *address) WEAK;
void AnnotateHappensAfter(const char *file, int line, const volatile void *address) WEAK;

static void count_cost(uint64_t begun_ns)
{
    gv_output_count_cost(GV_OWN_COST_BUFFERS, gv_monotonic_ns() - begun_ns);
}

/* To a thread sanitizer, mmap() is a write by this thread, and CUPTI's reads race with it. */
static void *map(size_t bytes, int flags)
{
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0L);

    return memory == MAP_FAILED ? NULL : memory;
}

static struct gv_buffer *map_buffer(int flags)
{
    return map(sizeof(struct gv_buffer) + GV_BUFFER_BYTES, flags);
}

static struct gv_buffer *get_free(void)
{
    struct gv_buffer *buffer = NULL;

    for (unsigned i = 0; i < FREE && !buffer; i++)
        if (atomic_load_explicit(&free_buffers[i], memory_order_relaxed))
            buffer = atomic_exchange(&free_buffers[i], NULL);
    return buffer;
}

/* The size of the next buffer. */
static size_t next_size_bytes(uint64_t now_ns)
{
    uint64_t before_ns = atomic_exchange(&asked_ns, now_ns);
    size_t bytes = atomic_load(&size_bytes);

    if (now_ns < before_ns + SOON_NS && bytes < GV_BUFFER_BYTES)
        bytes *= 2;
    else if (now_ns > before_ns + LATE_NS && bytes > LEAST_BYTES)
        bytes /= 2;
    atomic_store(&size_bytes, bytes);
    return bytes;
}

/* False: CUPTI has too many. */
static bool note_given(struct gv_buffer *buffer)
{
    buffer->turn = atomic_load(&turn);
    for (unsigned i = 0; i < GIVEN; i++) {
        struct gv_buffer *none = NULL;

        if (atomic_compare_exchange_strong(&given[i], &none, buffer))
            return true;
    }
    return false;
}

/* Where it was noted; NULL: it is not ours. */
static _Atomic(struct gv_buffer *) *find_given(const uint8_t *data)
{
    for (unsigned i = 0; data && i < GIVEN; i++) {
        struct gv_buffer *buffer = atomic_load(&given[i]);

        if (buffer && buffer->data == data)
            return &given[i];
    }
    return NULL;
}

void gv_buffers_refill(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < FREE; i++)
        count += atomic_load(&free_buffers[i]) != NULL;
    for (; count < READY; count++) {
        struct gv_buffer *buffer = map_buffer(MAP_POPULATE);

        if (!buffer)
            return;
        gv_buffers_recycle(buffer);
    }
}

int gv_buffers_prepare(const struct gv_gpu_other *profiler, void (*given_hurry)(void))
{
    if (!reserve)
        reserve = map(RESERVED * sizeof(*reserve), MAP_NORESERVE);
    if (!reserve)
        return -ENOMEM;
    other = profiler;
    hurry = given_hurry;
    gv_buffers_refill();
    return atomic_load(&free_buffers[0]) ? 0 : -ENOMEM;
}

static struct gv_buffer *get(void)
{
    struct gv_buffer *buffer = get_free();

    if (!buffer)
        buffer = map_buffer(0);
    if (buffer && !note_given(buffer)) {
        munmap(buffer, sizeof *buffer + GV_BUFFER_BYTES);
        buffer = NULL;
    }
    return buffer;
}

static uint8_t *get_reserved(void)
{
    for (unsigned i = 0; i < RESERVED; i++)
        if (!atomic_exchange(&reserve_given[i], true))
            return reserve[i];
    return NULL;
}

static uint8_t *await_reserved(void)
{
    uint8_t *data = get_reserved();
    int saved_errno = errno;

    for (int i = 0; !data && i < RESERVE_PATIENCE && !atomic_load(&is_in_vain); i++) {
        uint32_t known = atomic_load(&reserve_taken);

        hurry();
        data = get_reserved();
        if (!data)
            gv_futex_wait(&reserve_taken, known, RESERVE_STEP_NS);
    }
    errno = saved_errno;
    if (!data)
        atomic_store(&is_in_vain, true);
    return data ? data : reserve[RESERVED - 1];
}

/* Whether it is a buffer of the reserve. */
static bool take_reserved(uint8_t *data, size_t used)
{
    size_t i = ((uintptr_t)data - (uintptr_t)reserve) / sizeof(*reserve);

    if (i >= RESERVED)
        return false;
    atomic_fetch_add_explicit(&unread, used ? 1 : 0, memory_order_relaxed);
    memset(data, 0, used);
    atomic_store(&reserve_given[i], false);
    atomic_store(&is_in_vain, false);
    atomic_fetch_add(&reserve_taken, 1);
    return true;
}

/* What the other profiler's callback costs is not our cost. */
static bool give_others(uint8_t **data, size_t *bytes, size_t *records_most)
{
    CUpti_BuffersCallbackRequestFunc give = NULL;

    if (atomic_load(&is_left))
        *(void **)&give = atomic_load(&other->give);
    if (!give)
        return false;
    atomic_fetch_add(&others_given, 1);
    give(data, bytes, records_most);
    return true;
}

void CUPTIAPI gv_buffers_give(uint8_t **data, size_t *bytes, size_t *records_most)
{
    uint64_t begun_ns = gv_monotonic_ns();
    struct gv_buffer *buffer;

    if (give_others(data, bytes, records_most))
        return;
    buffer = get();
    *bytes = buffer ? next_size_bytes(begun_ns) : LEAST_BYTES;
    *data = buffer ? buffer->data : await_reserved();
    if (AnnotateHappensAfter)
        AnnotateHappensAfter(__FILE__, __LINE__, *data);
    *records_most = 0;
    count_cost(begun_ns);
}

static void take_others(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                        size_t used)
{
    CUpti_BuffersCallbackCompleteFunc take = NULL;

    if (atomic_load(&others_given) > 0)
        atomic_fetch_sub(&others_given, 1);
    *(void **)&take = atomic_load(&other->take);
    if (take)
        take(context, stream, data, bytes, used);
}

void CUPTIAPI gv_buffers_take(CUcontext context, uint32_t stream, uint8_t *data, size_t bytes,
                              size_t used)
{
    uint64_t begun_ns = gv_monotonic_ns();
    _Atomic(struct gv_buffer *) *noted;
    struct gv_buffer *buffer;

    if (AnnotateHappensBefore)
        AnnotateHappensBefore(__FILE__, __LINE__, data);
    if (take_reserved(data, used))
        return;
    noted = find_given(data);
    if (!noted) {
        take_others(context, stream, data, bytes, used);
        return;
    }
    buffer = atomic_exchange(noted, &returning);
    buffer->used = used;
    buffer->next = atomic_load(&full_buffers);
    while (!atomic_compare_exchange_weak(&full_buffers, &buffer->next, buffer))
        ;
    atomic_fetch_add(&full_count, 1);
    /* Only now: a thread that sees no buffer outstanding must find all of them. */
    atomic_store(noted, NULL);
    count_cost(begun_ns);
}

void gv_buffers_mark(void)
{
    atomic_fetch_xor(&turn, 1);
}

uint32_t gv_buffers_marked(void)
{
    uint8_t before = atomic_load(&turn) ^ 1;
    uint32_t count = 0;

    for (unsigned i = 0; i < GIVEN; i++) {
        const struct gv_buffer *buffer = atomic_load(&given[i]);

        count += buffer && (buffer == &returning || buffer->turn == before);
    }
    return count;
}

bool gv_buffers_are_others(void)
{
    return atomic_load(&others_given) > 0;
}

void gv_buffers_leave(bool is_to_other)
{
    atomic_store(&is_left, is_to_other);
}

uint64_t gv_buffers_unread(void)
{
    return atomic_exchange(&unread, 0);
}

bool gv_buffers_are_many(void)
{
    return atomic_load(&full_count) >= MANY;
}

/* The reserve is given out from its beginning. */
bool gv_buffers_are_short(void)
{
    return atomic_load(&reserve_given[RESERVED / 2]);
}

struct gv_buffer *gv_buffers_full(void)
{
    struct gv_buffer *newest, *oldest = NULL;

    atomic_store(&full_count, 0);
    newest = atomic_exchange(&full_buffers, NULL);
    while (newest) {
        struct gv_buffer *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void gv_buffers_recycle(struct gv_buffer *buffer)
{
    memset(buffer->data, 0, buffer->used);
    for (unsigned i = 0; i < FREE; i++) {
        struct gv_buffer *none = NULL;

        if (atomic_compare_exchange_strong(&free_buffers[i], &none, buffer))
            return;
    }
    munmap(buffer, sizeof *buffer + GV_BUFFER_BYTES);
}
