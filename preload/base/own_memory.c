#include "preload/base/own_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

bool gv_other_memory_read(uint32_t pid, void *to, uintptr_t from, size_t bytes)
{
    struct iovec here = {.iov_base = to, .iov_len = bytes};
    struct iovec there = {.iov_base = (void *)from, .iov_len = bytes};

    return from && process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool gv_own_memory_read(void *to, uintptr_t from, size_t bytes)
{
    return gv_other_memory_read((uint32_t)getpid(), to, from, bytes);
}

/* Valgrind answers this for the kernel, and reports what is asked for below as an error of the
 * program. To a processor it does nothing. */
static bool is_in_valgrind(void)
{
#ifdef __x86_64__
    const uint64_t question[6] = {0x1001}; /* RUNNING_ON_VALGRIND */
    uint64_t answer = 0;

    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(question)
                     : "cc", "memory");
    return answer;
#else
    return false;
#endif
}

/* The kernel takes an invalid set of signals from there, or cannot read it. */
bool gv_own_memory_is_readable(uintptr_t address)
{
    uint64_t word;

    if (is_in_valgrind())
        return gv_own_memory_read(&word, address, sizeof word);
    return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) < 0 && errno == EINVAL;
}

bool gv_own_memory_peek(void *to, uintptr_t from, size_t bytes)
{
    /* A set of signals at the end of a page reaches into the next one. */
    for (uintptr_t at = from & ~(uintptr_t)(PAGE_BYTES - 1); at < from + bytes; at += PAGE_BYTES)
        if (!gv_own_memory_is_readable(at))
            return false;
    memcpy(to, (const void *)from, bytes);
    return true;
}

bool gv_own_memory_read_held(void *to, uintptr_t from, size_t bytes)
{
    return gv_own_memory_read(to, from, bytes) || gv_own_memory_peek(to, from, bytes);
}

/*
 * This writes to `to` instead of reading the ranges, because that is faster: the Linux kernel looks
 * up each page on the remote side, but copies the caller's own side like in any system call. Not
 * through libc: sanitizers would check the memory around the interpreter's objects.
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

size_t gv_other_memory_gather(uint32_t pid, void *to, const struct iovec *ranges, unsigned count)
{
    struct iovec into = {.iov_base = to};
    ssize_t bytes;

    for (unsigned i = 0; i < count; i++)
        into.iov_len += ranges[i].iov_len;
    bytes = process_vm_readv((pid_t)pid, &into, 1, ranges, count, 0);
    return bytes > 0 ? (size_t)bytes : 0;
}
