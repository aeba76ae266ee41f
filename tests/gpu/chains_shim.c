/*
 * Preloaded before libgpuverify.so by tests/gpu/chains.py: notes what backtrace() says wherever
 * that library is about to copy a stack. Before each copy it reads the loader's last object, 32
 * bytes, with process_vm_readv(), on the same thread. Other reads of that size do no harm: a
 * thread's last one before its call is over counts.
 *
 * Writes lines into the file CHAINS: `clock NS`, the Unix time minus CLOCK_MONOTONIC; whenever the
 * objects have changed `objects`, and `object LOW HIGH BASE PATH` for each; `chain PID TID NS
 * ADDRESS...`, innermost first.
 */
#include "kernels/clock.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LOOK_BYTES  32
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

__attribute__((visibility("default"))) ssize_t
process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
                 const struct iovec *remote, unsigned long remote_count, unsigned long flags)
{
    if (out && pid == getpid() && remote_count == 1 && remote->iov_len == LOOK_BYTES)
        write_chain();
    return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}
