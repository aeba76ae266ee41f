#include "report/show/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool gv_output_file_is_stdout(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 ||
           strcmp(path, "/dev/fd/1") == 0 || strcmp(path, "/proc/self/fd/1") == 0;
}

int gv_output_file_open(struct gv_output_file *file, const char *path)
{
    struct stat status;
    mode_t mask;

    memset(file, 0, sizeof(*file));
    if (gv_output_file_is_stdout(path)) {
        file->out = stdout;
        return 0;
    }
    /* A name in /dev, such as /dev/fd/3, may be a file that is already open. */
    if (strncmp(path, "/dev/fd/", 8) == 0 ||
        (stat(path, &status) == 0 && !S_ISREG(status.st_mode))) {
        file->out = fopen(path, "we");
        return file->out ? 0 : -errno;
    }
    if ((size_t)snprintf(file->path, sizeof(file->path), "%s", path) >= sizeof(file->path) ||
        (size_t)snprintf(file->part, sizeof(file->part), "%s.XXXXXX", path) >= sizeof(file->part))
        return -ENAMETOOLONG;
    int fd = mkostemp(file->part, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    mask = umask(0);
    umask(mask);
    file->out = fdopen(fd, "w");
    if (!file->out || fchmod(fd, 0666 & ~mask) < 0) {
        int error = -errno;
        close(fd);
        unlink(file->part);
        return error;
    }
    return 0;
}

int gv_output_file_close(struct gv_output_file *file)
{
    int error = fflush(file->out) != 0 ? -errno : ferror(file->out) ? -EIO : 0;

    if (file->out == stdout)
        return error;
    /* Which error it was, is forgotten: it comes again. */
    if (error == -EIO && (fputc('\n', file->out) == EOF || fflush(file->out) != 0))
        error = -errno;
    if (fclose(file->out) != 0 && !error)
        error = -errno;
    if (file->part[0] && !error && rename(file->part, file->path) < 0)
        error = -errno;
    if (file->part[0] && error)
        unlink(file->part);
    return error;
}

void gv_output_file_drop(struct gv_output_file *file)
{
    if (file->out != stdout)
        (void)fclose(file->out);
    if (file->part[0])
        unlink(file->part);
}
