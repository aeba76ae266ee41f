#include "trace/spool_memory.h"

#include "trace/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHARE         4    /* one in so many bytes */
#define LISTING_BYTES 2048 /* the caller's stack may be small */

/* What getdents64() writes. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

struct use {
    int64_t bytes;
    uint32_t spools;
};

static void add_file(int directory_fd, const char *name, struct use *use)
{
    size_t length = strlen(name), suffix = sizeof GV_SPOOL_SUFFIX - 1;
    struct stat status;

    if (fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
        return; /* it has just gone */
    use->bytes += (int64_t)status.st_blocks * 512;
    use->spools += length > suffix && strcmp(name + length - suffix, GV_SPOOL_SUFFIX) == 0;
}

/* opendir() allocates. */
static int add_files(int directory_fd, struct use *use)
{
    _Alignas(struct entry) char listing[LISTING_BYTES];
    int again = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long got;

    if (again < 0)
        return -errno;
    while ((got = syscall(SYS_getdents64, again, listing, sizeof listing)) > 0)
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(const void *)(listing + at);

            add_file(again, entry->name, use);
            at += entry->bytes;
        }
    got = got < 0 ? -errno : 0;
    close(again);
    return (int)got;
}

int gv_spool_memory_look(int directory_fd, struct gv_spool_memory *memory)
{
    struct use use = {0};
    struct statvfs system;
    int error = fstatvfs(directory_fd, &system) < 0 ? -errno : add_files(directory_fd, &use);
    int64_t available;

    if (error)
        return error;
    memory->spools = use.spools;
    memory->bytes = INT64_MAX;
    if (system.f_blocks == 0) /* a tmpfs without a limit */
        return 0;
    available = (int64_t)(system.f_bavail * system.f_frsize);
    memory->bytes = (available + use.bytes) / SHARE - use.bytes;
    return 0;
}

uint32_t gv_spool_memory_segments(const struct gv_spool_memory *memory, uint32_t most)
{
    int64_t share = memory->bytes / (memory->spools ? memory->spools : 1) / GV_SPOOL_SEGMENT_BYTES;

    if (share < 0)
        share = 0;
    return share < most ? (uint32_t)share : most;
}
