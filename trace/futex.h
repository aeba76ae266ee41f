/* Waits: for a word to change, between threads and between processes, or for a moment. */
#ifndef GV_TRACE_FUTEX_H
#define GV_TRACE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns when the word is not `known`, after a wake-up, after the time, or earlier. */
static inline void gv_futex_wait(const _Atomic uint32_t *word, uint32_t known, uint64_t most_ns)
{
    struct timespec most = {.tv_sec = (time_t)(most_ns / 1000000000u),
                            .tv_nsec = (long)(most_ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT, known, &most, NULL, 0);
}

/* 0: there is no such clock. */
static inline uint64_t gv_time_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t gv_monotonic_ns(void)
{
    return gv_time_ns(CLOCK_MONOTONIC);
}

/* The same until a time of CLOCK_MONOTONIC. False: that has come. */
static inline bool gv_futex_wait_until(const _Atomic uint32_t *word, uint32_t known,
                                       uint64_t end_ns)
{
    uint64_t now_ns = gv_monotonic_ns();

    if (now_ns >= end_ns)
        return false;
    gv_futex_wait(word, known, end_ns - now_ns);
    return true;
}

/* Less than a second; shorter if a signal comes. Preserves errno. No point of cancellation: in
 * clock_nanosleep() of glibc 2.36 a thread of the program that was cancelled as it ended, and makes
 * a call in a destructor of its data, waits for ever. */
static inline void gv_pause_ns(long ns)
{
    struct timespec pause = {.tv_nsec = ns};
    int saved_errno = errno;

    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
    errno = saved_errno;
}

static inline void gv_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Changes the word, and wakes who waits for that. */
static inline void gv_futex_ring(_Atomic uint32_t *word)
{
    atomic_fetch_add(word, 1);
    gv_futex_wake(word);
}

#endif
