/* Preloaded by tests/deaths.py: a wall clock that jumps, and a disk quota. The file DEATHS_SHIM
 * says how. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default) /* the build hides what does not say so */

struct shim {
    _Atomic int64_t jump_s;
    _Atomic int64_t quota_bytes; /* what files may still be written; less than 0: none left */
};

static struct shim none = {0, INT64_MAX}, *shim = &none;

__attribute__((constructor)) static void open_shim(void)
{
    const char *path = getenv("DEATHS_SHIM");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *found =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    if (found != MAP_FAILED)
        shim = found;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += atomic_load(&shim->jump_s);
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;

    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at)
{
    struct stat file;

    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        atomic_fetch_sub(&shim->quota_bytes, (int64_t)bytes) < (int64_t)bytes) {
        errno = EDQUOT;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, data, bytes, at);
}
