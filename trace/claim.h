/*
 * A word in shared memory that a command has claimed: its pid above two bits of state. If the
 * command was killed, another may claim the word. For processes that see the same pids.
 */
#ifndef GV_TRACE_CLAIM_H
#define GV_TRACE_CLAIM_H

#include "trace/process_gone.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define GV_CLAIM_STATE 3u

static inline uint32_t gv_claim_of_ours(uint32_t state)
{
    return (uint32_t)getpid() << 2 | state;
}

static inline bool gv_claim_is_left(uint32_t word)
{
    uint32_t pid = word >> 2;

    return pid > 0 && gv_process_is_gone(pid);
}

/* Takes a word that is free (0) or left. */
static inline bool gv_claim_take(_Atomic uint32_t *word, uint32_t state)
{
    uint32_t now = atomic_load(word);

    return (now == 0 || gv_claim_is_left(now)) &&
           atomic_compare_exchange_strong(word, &now, gv_claim_of_ours(state));
}

#endif
