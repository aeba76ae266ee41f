/*
 * Whether a spool's process lives, told by the spool and not by /proc, which may hide the process
 * or show another one with its number.
 *
 * The process locks the file through a mapping. The mapping belongs to its memory, so the lock goes
 * when the last thread is gone, or at an exec. A forked child does not inherit it. It is a lock of
 * the open file, which flock() does not see; only network file systems make one kind of both, so it
 * is used in a tmpfs.
 */
#ifndef GV_TRACE_SPOOL_HOLD_H
#define GV_TRACE_SPOOL_HOLD_H

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define GV_SPOOL_HOLD_BYTES 4096u

/* Holds the spool. *hold is the mapping, for munmap() in the process that made it. 0 or -errno;
 * -ENOTSUP: not with this file system. */
static inline int gv_spool_hold(const char *path, void **hold)
{
    struct flock whole = {.l_type = F_RDLCK};
    struct statfs status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int error;

    if (fd < 0)
        return -errno;
    error = fstatfs(fd, &status) < 0 ? -errno : 0;
    if (!error && status.f_type != TMPFS_MAGIC)
        error = -ENOTSUP;
    if (!error && fcntl(fd, F_OFD_SETLK, &whole) < 0)
        error = -errno;
    if (!error) {
        *hold = mmap(NULL, GV_SPOOL_HOLD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
        error = *hold == MAP_FAILED ? -errno : 0;
    }
    close(fd);
    if (!error && madvise(*hold, GV_SPOOL_HOLD_BYTES, MADV_DONTFORK) < 0) {
        error = -errno;
        munmap(*hold, GV_SPOOL_HOLD_BYTES);
    }
    if (error)
        *hold = NULL;
    return error;
}

static inline void gv_spool_let_go(void **hold)
{
    if (*hold)
        munmap(*hold, GV_SPOOL_HOLD_BYTES);
    *hold = NULL;
}

/* 1: a process holds the spool that is open on `fd`; 0: none does; -errno. */
static inline int gv_spool_is_held(int fd)
{
    struct flock whole = {.l_type = F_WRLCK};

    return fcntl(fd, F_OFD_GETLK, &whole) < 0 ? -errno : whole.l_type != F_UNLCK;
}

#endif
