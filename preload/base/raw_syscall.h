/* A system call without libc: no errno, and nobody's breakpoint in a function of libc. */
#ifndef GV_BASE_RAW_SYSCALL_H
#define GV_BASE_RAW_SYSCALL_H

#include <sys/syscall.h>

/* Returns what the Linux kernel does: -errno for an error. */
__attribute__((always_inline)) static inline long gv_raw_syscall(long number, long a, long b,
                                                                 long c, long d, long e)
{
#if defined(__x86_64__)
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long which __asm__("x8") = number;
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e;

    __asm__ volatile("svc #0"
                     : "+r"(first)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                     : "memory");
    return first;
#else
#error "x86-64 or aarch64"
#endif
}

#endif
