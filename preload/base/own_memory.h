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

/* Whether the page of an address can be read now. Also where the kernel refuses such reads. */
bool gv_own_memory_is_readable(uintptr_t address);

/* Asks whether the pages can be read, for 0.1 us each, and loads them. For memory that hardly
 * anybody unmaps meanwhile. */
bool gv_own_memory_peek(void *to, uintptr_t from, size_t bytes);

/* The same as reading, also where the kernel refuses it. Nobody must unmap it meanwhile. */
bool gv_own_memory_read_held(void *to, uintptr_t from, size_t bytes);

/* Reads many ranges, one after the other, for little more than one. Returns the number of bytes
 * read: less than all if a range is invalid. `to` is memory that was written before: memory
 * checkers do not see that this writes it. */
size_t gv_own_memory_gather(void *to, const struct iovec *ranges, unsigned count);

/* The same for the memory of another process. Linux allows it for a descendant, unless that has
 * more privileges or forbids it. */
bool gv_other_memory_read(uint32_t pid, void *to, uintptr_t from, size_t bytes);
size_t gv_other_memory_gather(uint32_t pid, void *to, const struct iovec *ranges, unsigned count);

#endif
