/* Waits for a word to change, between threads and between processes. */
#ifndef GV_TRACE_FUTEX_H
#define GV_TRACE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
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

static inline void gv_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif
