/*
 * Preloaded before libgpuverify.so by tests/gpu/chains.py: notes what backtrace() says wherever
 * that library is about to copy a stack. Before that it asks which pages can be read, with an
 * invalid rt_sigprocmask(), on the same thread. The first time after a call counts.
 *
 * Writes lines into the file CHAINS: `clock NS`, the Unix time minus CLOCK_MONOTONIC; whenever the
 * objects have changed `objects`, and `object LOW HIGH BASE PATH` for each; `chain PID TID NS
 * ADDRESS...`, innermost first.
 */
#include "kernels/clock.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES_MOST 256

static FILE *out;
static char program[4096];
static unsigned long long changes; /* of the objects that are written */

/* The thread may lose its CPU between the two readings: the closest of some pairs. */
static long long clock_offset(void)
{
    long long offset = 0;
    uint64_t least_ns = UINT64_MAX;

    for (int i = 0; i < 10; i++) {
        struct timespec now;
        uint64_t before_ns = gv_clock_ns(), after_ns;

        clock_gettime(CLOCK_REALTIME, &now);
        after_ns = gv_clock_ns();
        if (after_ns - before_ns < least_ns) {
            least_ns = after_ns - before_ns;
            offset = (long long)now.tv_sec * 1000000000 + now.tv_nsec - (long long)after_ns;
        }
    }
    return offset;
}

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("CHAINS");
    void *frame;

    if (!path || readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    backtrace(&frame, 1); /* loads libgcc */
    out = fopen(path, "ae");
    if (!out)
        return;
    setvbuf(out, NULL, _IOFBF, 1 << 16); /* a chain is one write: children have this file, too */
    fprintf(out, "clock %lld\n", clock_offset());
    fflush(out);
}

static int write_object(struct dl_phdr_info *info, size_t size, void *context)
{
    bool *is_listing = context;
    uintptr_t low = UINTPTR_MAX, high = 0;

    (void)size;
    if (!*is_listing) {
        if (info->dlpi_adds + info->dlpi_subs == changes)
            return 1;
        changes = info->dlpi_adds + info->dlpi_subs;
        *is_listing = true;
        fputs("objects\n", out);
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        if (start < low)
            low = start;
        if (start + info->dlpi_phdr[i].p_memsz > high)
            high = start + info->dlpi_phdr[i].p_memsz;
    }
    fprintf(out, "object %lx %lx %lx %s\n", (unsigned long)low, (unsigned long)high,
            (unsigned long)info->dlpi_addr, info->dlpi_name[0] ? info->dlpi_name : program);
    return 0;
}

static void write_chain(void)
{
    unsigned long long at_ns = gv_clock_ns();
    void *frames[FRAMES_MOST];
    int count = backtrace(frames, FRAMES_MOST);
    bool is_listing = false;

    flockfile(out);
    dl_iterate_phdr(write_object, &is_listing);
    fprintf(out, "chain %d %d %llu", getpid(), gettid(), at_ns);
    for (int i = 0; i < count; i++)
        fprintf(out, " %lx", (unsigned long)frames[i]);
    fputc('\n', out);
    fflush(out);
    funlockfile(out);
}

static long call_kernel(long number, const long words[6])
{
    register long fourth __asm__("r10") = words[3], fifth __asm__("r8") = words[4],
                         sixth __asm__("r9") = words[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth),
                       "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static _Thread_local bool is_inside;
    long words[6], result;
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(list, long);
    va_end(list);
    if (out && number == SYS_rt_sigprocmask && (int)words[0] == -1 && !is_inside) {
        is_inside = true;
        write_chain();
        is_inside = false;
    }
    result = call_kernel(number, words);
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}
