/*
 * What the kernel keeps of a thread's time: /proc/PID/task/TID/schedstat has three numbers, the
 * nanoseconds on a processor, those in which it was ready to run but others had the processor, and
 * how often it was given one. The second one grows when the thread gets a processor again.
 */
#ifndef GV_TRACE_SCHEDSTAT_H
#define GV_TRACE_SCHEDSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Three numbers of twenty digits. */
#define GV_SCHEDSTAT_BYTES 64

/* The second number of a text that ends with NUL. False: it is no schedstat. */
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

/* The same of an open file, which it closes. By system calls: in the program, the calls of libc may
 * be another library's. */
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
