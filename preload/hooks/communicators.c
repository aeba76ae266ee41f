#include "preload/hooks/communicators.h"

#include "preload/base/clock.h"
#include "preload/base/lazy_memory.h"
#include "preload/bind/entry_points.h"
#include "trace/mix.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* A process has a few; further ones are not told apart: their collectives are not recorded. */
#define COMMUNICATORS 256
/* Peers whose sends and receives are counted, for each communicator; those with further ones have
 * no place in the order. */
#define PEERS 256
/* A slot: the peer + 1, above the count of what was sent to it or received. 0: free. */
#define SLOT_OF(peer) ((uint64_t)(uint32_t)((peer) + 1) << 32)

#define GV_RANK_UNKNOWN (-1)

struct communicator {
    _Atomic uint64_t handle; /* 0: free; 1: being filled in */
    uint64_t number;
    _Atomic int size, rank;
    _Atomic uint64_t collectives;
    _Atomic uint64_t splits;
    _Atomic uint64_t of_two[2][PEERS]; /* sends, receives */
};

static void *_Atomic communicators_memory;

/* What the thread's collective is, until its call has ended. */
static _Thread_local struct gv_record_collective noted __attribute__((tls_model("initial-exec")));

static bool succeeded(int result)
{
    return !gv_result_is_failure(true, result);
}

static struct communicator *find(uint64_t handle)
{
    struct communicator *all = atomic_load_explicit(&communicators_memory, memory_order_relaxed);

    for (int i = 0; i < COMMUNICATORS && handle > 1 && all; i++)
        if (atomic_load_explicit(&all[i].handle, memory_order_acquire) == handle)
            return &all[i];
    return NULL;
}

void gv_communicator_forget(uint64_t handle)
{
    struct communicator *one = find(handle);

    if (one)
        atomic_store(&one->handle, 0);
}

static void add(uint64_t handle, uint64_t number, int size, int rank)
{
    struct communicator *all =
        gv_lazy_memory(&communicators_memory, COMMUNICATORS * sizeof(struct communicator));

    /* NCCL freed an older one with this handle without a call of ours, such as pncclCommDestroy. */
    gv_communicator_forget(handle);
    for (int i = 0; i < COMMUNICATORS && handle > 1 && all; i++) {
        struct communicator *one = &all[i];
        uint64_t none = 0;

        if (!atomic_compare_exchange_strong(&one->handle, &none, 1))
            continue;
        /* SQLite's integers, and those of other tools, have a sign. */
        one->number = number >> 1;
        atomic_store(&one->size, size);
        atomic_store(&one->rank, rank);
        atomic_store(&one->collectives, 0);
        atomic_store(&one->splits, 0);
        for (int peer = 0; peer < PEERS; peer++) {
            atomic_store(&one->of_two[0][peer], 0);
            atomic_store(&one->of_two[1][peer], 0);
        }
        atomic_store_explicit(&one->handle, handle, memory_order_release);
        return;
    }
}

void gv_communicator_note(int result, uint64_t handle, const char id[128], int size, int rank)
{
    uint64_t number = 0;

    if (!succeeded(result))
        return;
    for (int i = 0; i < 128; i += 8) {
        uint64_t part;

        memcpy(&part, id + i, sizeof(part));
        number = gv_mix(number, part);
    }
    add(handle, number, size, rank);
}

void gv_communicators_note(int result, void *const *handles, int count)
{
    /* NCCL makes the unique id itself, and no other process gets it. */
    uint64_t number = gv_mix(gv_mix(0, (uint64_t)getpid()), gv_clock_now_ns());

    for (int i = 0; i < count && handles && succeeded(result); i++)
        add((uint64_t)(uintptr_t)handles[i], number, count, i);
}

void gv_communicator_split(int result, uint64_t handle, uint64_t parent, int colour)
{
    struct communicator *whole = find(parent);
    uint64_t splits = whole && succeeded(result) ? atomic_fetch_add(&whole->splits, 1) : 0;

    if (whole && succeeded(result))
        add(handle, gv_mix(gv_mix(whole->number, splits), (uint64_t)colour), GV_RANK_UNKNOWN,
            GV_RANK_UNKNOWN);
}

/* Of a part of a communicator, NCCL decides them. */
static void ask_rank(struct communicator *one, uint64_t handle)
{
    const void *communicator = (const void *)(uintptr_t)handle;
    int size, rank;

    if (atomic_load(&one->rank) != GV_RANK_UNKNOWN || !gv_nccl_calls.count ||
        !gv_nccl_calls.user_rank || gv_nccl_calls.count(communicator, &size) != 0 ||
        gv_nccl_calls.user_rank(communicator, &rank) != 0)
        return;
    atomic_store(&one->size, size);
    atomic_store(&one->rank, rank);
}

static uint64_t next_of(struct communicator *one, enum gv_collective_kind kind, int peer)
{
    bool of_two = kind == GV_COLLECTIVE_SEND || kind == GV_COLLECTIVE_RECEIVE;

    if (!of_two)
        return atomic_fetch_add(&one->collectives, 1);
    for (unsigned i = 0; i < PEERS; i++) {
        _Atomic uint64_t *slot =
            &one->of_two[kind == GV_COLLECTIVE_RECEIVE][((unsigned)peer + i) % PEERS];
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(slot, &found, SLOT_OF(peer) + 1))
            return 0;
        if (found >> 32 == SLOT_OF(peer) >> 32)
            return (uint32_t)atomic_fetch_add(slot, 1);
    }
    return GV_SEQUENCE_UNKNOWN;
}

static uint64_t bytes_of(int type, uint64_t count)
{
    static const uint8_t bytes[] = {
#define GV_COLLECTIVE_TYPE(number, name, bytes) [number] = (bytes),
#include "trace/collective_types.def"
    };

    return (unsigned)type < sizeof(bytes) ? bytes[type] * count : 0;
}

void gv_collective_note(struct gv_facts *facts, int result, uint64_t handle,
                        enum gv_collective_kind kind, uint64_t count, int type, int root_or_peer)
{
    struct communicator *one = succeeded(result) ? find(handle) : NULL;
    uint64_t bytes = bytes_of(type, count);

    facts->object = handle;
    if (bytes || count == 0) {
        facts->bytes = bytes;
        facts->flags |= GV_RECORD_HAS_BYTES;
    }
    /* One inside another call of NCCL's is a part of that. */
    if (!one || gv_thread.depth != 1)
        return;
    ask_rank(one, handle);
    facts->what = GV_FACT_COLLECTIVE;
    noted = (struct gv_record_collective){
        .head = {.kind = GV_RECORD_COLLECTIVE, .flags = GV_RECORD_MORE, .result = root_or_peer},
        .communicator = one->number,
        .sequence = next_of(one, kind, root_or_peer),
        .count = count,
        .rank = atomic_load(&one->rank),
        .size = atomic_load(&one->size),
        .collective = (uint8_t)kind,
        .type = (uint8_t)type,
    };
}

void gv_collective_write(struct gv_thread *thread, const struct gv_call *call)
{
    union gv_record record = {.collective = noted};

    record.collective.call_start_ns = call->start_ns;
    gv_thread_write(thread, GV_ROOM_WORK, &record);
}
