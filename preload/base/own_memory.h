/*
 * Reads this process's memory through the Linux kernel, which returns an error for an invalid
 * address instead of faulting. A third of a microsecond each; for slow paths.
 */
#ifndef GV_BASE_OWN_MEMORY_H
#define GV_BASE_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* True if everything was read. False also if the kernel refuses such reads (seccomp). */
bool gv_own_memory_read(void *to, uintptr_t from, size_t bytes);

/* Reads pieces of equal lengths. Returns how many were read, counted from the first. */
unsigned gv_own_memory_read_several(const struct iovec *here, const struct iovec *there,
                                    unsigned count);

#endif
