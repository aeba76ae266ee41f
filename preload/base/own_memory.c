#include "preload/base/own_memory.h"

#include <unistd.h>

bool gv_own_memory_read(void *to, uintptr_t from, size_t bytes)
{
    struct iovec here = {.iov_base = to, .iov_len = bytes};
    struct iovec there = {.iov_base = (void *)from, .iov_len = bytes};

    return from && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

unsigned gv_own_memory_read_several(const struct iovec *here, const struct iovec *there,
                                    unsigned count)
{
    ssize_t bytes = process_vm_readv(getpid(), here, count, there, count, 0);
    unsigned whole = 0;

    while (whole < count && bytes >= (ssize_t)here[whole].iov_len)
        bytes -= (ssize_t)here[whole++].iov_len;
    return whole;
}
