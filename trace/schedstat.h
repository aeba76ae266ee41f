/*
 * The Linux kernel's times of a thread. /proc/PID/task/TID/schedstat has three numbers: nanoseconds
 * on a CPU, nanoseconds ready to run but waiting for a CPU, and how often it got a CPU. The second
 * one grows when the thread gets a CPU again.
 */
#ifndef GV_TRACE_SCHEDSTAT_H
#define GV_TRACE_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Three numbers of up to twenty digits. */
#define GV_SCHEDSTAT_BYTES 64

/* Reads the second number of a text that ends with NUL. False: it is not a schedstat. */
static inline bool gv_schedstat_delay(const char *text, uint64_t *delay_ns)
{
    uint64_t number = 0;

    while (*text >= '0' && *text <= '9')
        text++;
    if (*text++ != ' ' || *text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return false;
    *delay_ns = number;
    return *text == ' ';
}

/* The same for an open file, which it closes. Uses system calls, because in the program libc's
 * functions may be another library's. */
static inline bool gv_schedstat_read(int fd, uint64_t *delay_ns)
{
    char text[GV_SCHEDSTAT_BYTES + 1];
    long bytes = syscall(SYS_read, fd, text, sizeof(text) - 1);

    syscall(SYS_close, fd);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    return gv_schedstat_delay(text, delay_ns);
}

#endif
