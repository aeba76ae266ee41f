/* Reads a file of /proc whole. With system calls, because in the program libc's functions may be
 * another library's. */
#ifndef GV_TRACE_PROC_FILE_H
#define GV_TRACE_PROC_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GV_PROC_PATH_BYTES 512u

/* The text ends with NUL, and is empty if there is an error; what does not fit is left out. Its
 * length or -errno. */
__attribute__((format(printf, 3, 4))) static inline int gv_proc_read(char *text, size_t size,
                                                                     const char *format, ...)
{
    char path[GV_PROC_PATH_BYTES];
    va_list values;
    size_t length = 0;
    long fd, bytes;

    text[0] = 0;
    va_start(values, format);
    vsnprintf(path, sizeof path, format, values);
    va_end(values);
    fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    do {
        bytes = syscall(SYS_read, fd, text + length, size - 1 - length);
        if (bytes > 0)
            length += (size_t)bytes;
    } while (bytes > 0 && length < size - 1);
    if (bytes < 0)
        bytes = -errno;
    syscall(SYS_close, fd);
    text[length] = 0;
    return bytes < 0 ? (int)bytes : (int)length;
}

/*
 * The same for a short file that is read again and again: *fd is open, or -1, and stays open unless
 * there is an error. That takes a third of the time. -ESRCH: what the file is about has ended.
 */
static inline int gv_proc_read_again(int *fd, char *text, size_t size, const char *folder,
                                     const char *name)
{
    char path[GV_PROC_PATH_BYTES];
    long bytes;

    if (*fd < 0) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        *fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            return -errno;
    }
    bytes = syscall(SYS_pread64, *fd, text, size - 1, 0);
    text[bytes > 0 ? bytes : 0] = 0;
    if (bytes >= 0)
        return (int)bytes;
    bytes = -errno;
    syscall(SYS_close, *fd);
    *fd = -1;
    return (int)bytes;
}

#endif
