/* Compiled into each program of this folder, without its list of calls. */
#define SOAK_CALLS(ROW)
#include "kernels/soak/log.h"

#include "kernels/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPPED_BYTES (sizeof(struct soak_log) + soak_writer.entries * sizeof(struct soak_entry))

_Thread_local struct soak_writer soak_writer = {.fd = -1};

/* A limit on the size of files holds for the logs too. */
static uint32_t entries_most(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur < SOAK_ENTRIES * sizeof(struct soak_entry))
        return (uint32_t)(limit.rlim_cur / sizeof(struct soak_entry)) - 1024;
    return SOAK_ENTRIES;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    _exit(98);
}

void soak_full(void)
{
    fail("the log is full");
}

void soak_names(const char *const *names, unsigned count)
{
    const char *folder = getenv("SOAK_LOG");
    char path[4096];
    FILE *file;

    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/names", folder);
    file = fopen(path, "wxe");
    if (!file)
        return; /* inherited from the parent */
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "%s\n", names[i]);
    if (fclose(file))
        fail(path);
}

void soak_open(void)
{
    const char *folder = getenv("SOAK_LOG");
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    uint64_t now_ns = gv_clock_ns();
    char path[4096];
    struct soak_log *log;

    soak_writer = (struct soak_writer){.fd = -1, .entries = entries_most()};
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%d-%u-%llu.log", folder, (int)getpid(), tid,
             (unsigned long long)now_ns);
    soak_writer.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (soak_writer.fd < 0 || ftruncate(soak_writer.fd, MAPPED_BYTES))
        fail(path);
    log = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
               soak_writer.fd, 0);
    if (log == MAP_FAILED)
        fail(path);
    memcpy(log->magic, "soak log", sizeof log->magic);
    log->pid = (uint32_t)getpid();
    log->tid = tid;
    log->start_ns = now_ns;
    prctl(PR_GET_NAME, log->comm);
    memcpy(&log->image, (const void *)getauxval(AT_RANDOM), sizeof log->image);
    soak_writer.log = log;
}

void soak_close(void)
{
    struct soak_log *log = soak_writer.log;
    off_t used_bytes;

    soak_writer.log = NULL;
    if (!log)
        return;
    used_bytes = (off_t)(sizeof *log + log->count * sizeof log->entries[0]);
    munmap(log, MAPPED_BYTES);
    if (ftruncate(soak_writer.fd, used_bytes))
        fail("ftruncate");
    close(soak_writer.fd);
}
