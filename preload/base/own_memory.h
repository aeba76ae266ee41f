/*
 * Reads this process's own memory where it may not be there: through the kernel, which answers
 * instead of faulting. A third of a microsecond each; for slow paths.
 */
#ifndef GV_BASE_OWN_MEMORY_H
#define GV_BASE_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* True when all of it was read. Also false where the kernel refuses such reads (seccomp). */
bool gv_own_memory_read(void *to, uintptr_t from, size_t bytes);

/* Pieces that are as long here as there. How many, from the first on, have been read. */
unsigned gv_own_memory_read_several(const struct iovec *here, const struct iovec *there,
                                    unsigned count);

static inline bool gv_own_memory_pointer(uintptr_t from, uintptr_t *value)
{
    return gv_own_memory_read(value, from, sizeof(*value));
}

#endif
