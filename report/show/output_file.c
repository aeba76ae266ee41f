#include "report/show/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a command that is ended leaves nothing half-written ---- */

/* The last ones: limits of the system on the size of a file and on CPU time. */
static const int output_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGXCPU};

#define GV_OUTPUT_SIGNALS (sizeof(output_signals) / sizeof(output_signals[0]))

static struct gv_output_file *volatile output_files;       /* that are open; the newest first */
static struct sigaction output_actions[GV_OUTPUT_SIGNALS]; /* before */

static void output_end(int number)
{
    for (const struct gv_output_file *file = output_files; file; file = file->older)
        unlink(file->part);
    signal(number, SIG_DFL);
    raise(number);
}

static void output_take_signals(struct gv_output_file *file)
{
    const struct sigaction end = {.sa_handler = output_end};
    bool first = !output_files;

    file->older = output_files;
    output_files = file;
    for (size_t i = 0; i < GV_OUTPUT_SIGNALS && first; i++)
        if (sigaction(output_signals[i], NULL, &output_actions[i]) == 0 &&
            output_actions[i].sa_handler != SIG_IGN)
            sigaction(output_signals[i], &end, NULL);
}

/* Not only the newest file may be closed. */
static void output_leave_signals(const struct gv_output_file *file)
{
    if (!file->part[0])
        return;
    if (output_files == file)
        output_files = file->older;
    for (struct gv_output_file *newer = output_files; newer; newer = newer->older)
        if (newer->older == file)
            newer->older = file->older;
    for (size_t i = 0; i < GV_OUTPUT_SIGNALS && !output_files; i++)
        sigaction(output_signals[i], &output_actions[i], NULL);
}

/* ---- the file ---- */

bool gv_output_file_is_stdout(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 ||
           strcmp(path, "/dev/fd/1") == 0 || strcmp(path, "/proc/self/fd/1") == 0;
}

/* Makes the file whose name file->part begins. */
static int output_open_part(struct gv_output_file *file, mode_t mode)
{
    output_take_signals(file);
    int fd = mkostemp(file->part, O_CLOEXEC);
    file->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (file->out && fchmod(fd, mode) == 0)
        return 0;
    int error = -errno;
    if (file->out)
        (void)fclose(file->out);
    else if (fd >= 0)
        close(fd);
    if (fd >= 0)
        unlink(file->part);
    output_leave_signals(file);
    return error;
}

bool gv_output_file_is_same(const char *path, const char *other)
{
    struct stat one, two;

    return stat(path, &one) == 0 && stat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

int gv_output_file_open(struct gv_output_file *file, const char *path, mode_t mode)
{
    struct stat status;

    memset(file, 0, sizeof(*file));
    if (gv_output_file_is_stdout(path)) {
        file->out = stdout;
        return 0;
    }
    /* A name in /dev, such as /dev/fd/3, may be a file that is already open. */
    bool exists = stat(path, &status) == 0;
    if (strncmp(path, "/dev/fd/", 8) == 0 || (exists && !S_ISREG(status.st_mode))) {
        file->out = fopen(path, "we");
        return file->out ? 0 : -errno;
    }
    if ((size_t)snprintf(file->path, sizeof(file->path), "%s", path) >= sizeof(file->path) ||
        (size_t)snprintf(file->part, sizeof(file->part), "%s.XXXXXX", path) >= sizeof(file->part))
        return -ENAMETOOLONG;
    mode_t mask = umask(0);
    umask(mask);
    return output_open_part(file, exists ? status.st_mode & 0777 : mode & ~mask);
}

int gv_output_file_temporary(struct gv_output_file *file, const char *name)
{
    const char *const folders[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/tmp"};
    int error = -ENOENT;

    memset(file, 0, sizeof(*file));
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && error; i++)
        if (folders[i] && folders[i][0])
            error = (size_t)snprintf(file->part, sizeof(file->part), "%s/%s-XXXXXX", folders[i],
                                     name) < sizeof(file->part)
                        ? output_open_part(file, 0600)
                        : -ENAMETOOLONG;
    return error;
}

/* Why something could not be written before: the same happens again. */
static int output_why(FILE *out)
{
    clearerr(out);
    return fputc('\n', out) == EOF || fflush(out) != 0 ? -errno : -EIO;
}

int gv_output_file_close(struct gv_output_file *file)
{
    int error = ferror(file->out) ? output_why(file->out) : fflush(file->out) != 0 ? -errno : 0;

    if (file->out == stdout)
        return error;
    if (fclose(file->out) != 0 && !error)
        error = -errno;
    if (file->part[0] && !error && rename(file->part, file->path) < 0)
        error = -errno;
    if (file->part[0] && error)
        unlink(file->part);
    output_leave_signals(file);
    return error;
}

void gv_output_file_drop(struct gv_output_file *file)
{
    if (file->out != stdout)
        (void)fclose(file->out);
    if (file->part[0])
        unlink(file->part);
    output_leave_signals(file);
}
