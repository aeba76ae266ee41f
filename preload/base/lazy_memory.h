/*
 * Tables that only processes with CUDA use. A program may lock all that is mapped (mlockall), up to
 * a limit, so they are mapped at their first use.
 */
#ifndef GV_BASE_LAZY_MEMORY_H
#define GV_BASE_LAZY_MEMORY_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* Zeroed memory, mapped by the first caller; NULL: there is none. Any thread, also signal handlers.
 */
static inline void *gv_lazy_memory(void *_Atomic *memory, size_t bytes)
{
    void *known = atomic_load_explicit(memory, memory_order_acquire), *made;
    int program_errno;

    if (known)
        return known;
    program_errno = errno;
    made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = program_errno;
    if (made == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong(memory, &known, made))
        return made;
    munmap(made, bytes);
    return known;
}

#endif
