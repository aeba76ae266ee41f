#include "preload/base/own_memory.h"

#include <sys/syscall.h>
#include <unistd.h>

bool gv_own_memory_read(void *to, uintptr_t from, size_t bytes)
{
    struct iovec here = {.iov_base = to, .iov_len = bytes};
    struct iovec there = {.iov_base = (void *)from, .iov_len = bytes};

    return from && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/*
 * Writes to `to` instead of reading the ranges: the Linux kernel looks up the pages of the memory
 * that it writes or reads for another process, one by one, but copies its caller's as any system
 * call does. Not through libc: sanitizers would check what lies around the interpreter's objects.
 */
size_t gv_own_memory_gather(void *to, const struct iovec *ranges, unsigned count)
{
    struct iovec into = {.iov_base = to};
    ssize_t bytes;

    for (unsigned i = 0; i < count; i++)
        into.iov_len += ranges[i].iov_len;
    bytes = syscall(SYS_process_vm_writev, getpid(), ranges, count, &into, 1, 0);
    return bytes > 0 ? (size_t)bytes : 0;
}
