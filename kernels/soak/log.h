/*
 * The programs' own log of their CUDA calls: one file per thread, in the folder SOAK_LOG.
 * tests/soak.py compares it with the trace.
 *
 * A log is mapped shared, so it survives a kill. A call is logged when it has returned, together
 * with what was noted before it (SOAK_NOTE). A signal handler may make calls in between; `inside`
 * says whether it interrupted a call.
 *
 * A program lists its calls by their exported symbols, then includes this file:
 *
 *     #define SOAK_CALLS(ROW) ROW(cuInit) ROW(cuMemAlloc_v2) ...
 */
#ifndef GV_KERNELS_SOAK_LOG_H
#define GV_KERNELS_SOAK_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum soak_call {
#define SOAK_ENUM(symbol) SOAK_##symbol,
    SOAK_CALLS(SOAK_ENUM)
#undef SOAK_ENUM
        SOAK_CALL_COUNT
};

enum soak_flags {
    SOAK_RUNS = 1,    /* starts one GPU operation, if it succeeds */
    SOAK_KERNEL = 2,  /* detail: number of the launched kernel */
    SOAK_BYTES = 4,   /* detail: number of bytes */
    SOAK_LOADS = 8,   /* loads code */
    SOAK_NESTED = 16, /* by a handler that interrupted a call: may be a part of it */
};

#define SOAK_WRITTEN 128 /* no flag: an entry that was reserved when the process was killed */

#define SOAK_LEFT (-32768) /* the result of a call that never returned */

struct soak_entry {
    _Alignas(8) uint16_t call;
    int16_t result;
    uint32_t detail : 24;
    uint32_t flags : 8;
};

#define SOAK_HEADER_BYTES 4096
#define SOAK_ENTRIES      (4u << 20)

struct soak_log {
    char magic[8];
    uint32_t pid, tid;
    uint64_t start_ns; /* orders the logs of one thread number */
    _Atomic uint32_t count;
    _Atomic uint32_t calling; /* call + 1 while in one */
    char comm[16];
    uint64_t image; /* differs after an exec */
    _Alignas(SOAK_HEADER_BYTES) struct soak_entry entries[];
};

struct soak_writer {
    struct soak_log *log; /* NULL: do not log */
    uint32_t entries;     /* that fit */
    int fd;
    struct soak_entry note;
    volatile bool inside;
};

extern _Thread_local struct soak_writer soak_writer;

/* Writes the names of the calls to SOAK_LOG/names. */
void soak_names(const char *const *names, unsigned count);
/* Each thread calls these before its first call and after its last one. A forked child opens
 * anew. */
void soak_open(void);
void soak_close(void);
_Noreturn void soak_full(void);

static inline void soak_note(unsigned flags, uint64_t detail)
{
    soak_writer.note.flags = (uint8_t)flags;
    soak_writer.note.detail = (uint32_t)detail & 0xffffffu;
}

static inline void soak_before(enum soak_call call)
{
    if (soak_writer.log)
        atomic_store_explicit(&soak_writer.log->calling, call + 1u, memory_order_relaxed);
    soak_writer.inside = true;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Reserves its entry first: a handler may come and write the next one. */
static inline void soak_enter(enum soak_call call, int result, struct soak_entry entry)
{
    struct soak_log *log = soak_writer.log;
    uint32_t at;

    if (!log)
        return;
    at = atomic_fetch_add(&log->count, 1);
    if (at >= soak_writer.entries)
        soak_full();
    entry.call = (uint16_t)call;
    entry.result = (int16_t)result;
    entry.flags |= SOAK_WRITTEN;
    __atomic_store(&log->entries[at], &entry, __ATOMIC_RELAXED);
}

static inline int soak_after(enum soak_call call, int result)
{
    atomic_signal_fence(memory_order_seq_cst);
    soak_enter(call, result, soak_writer.note);
    soak_writer.note = (struct soak_entry){0};
    if (soak_writer.log)
        atomic_store_explicit(&soak_writer.log->calling, 0, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    soak_writer.inside = false;
    return result;
}

/* Makes a call and logs it. */
#define DO(symbol, ...)                                                                            \
    (soak_before(SOAK_##symbol), soak_after(SOAK_##symbol, (int)symbol(__VA_ARGS__)))

#endif
