#include "report/commands/run/note.h"

#include "trace/run_note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of shells and of the dynamic loader if they cannot start a program. */
#define GV_EXIT_NOT_FOUND 127

int gv_run_note_open(void)
{
    char path[64];
    int fd = memfd_create("gpuverify-run-note", MFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
    if (setenv(GV_RUN_NOTE, path, 1) < 0) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

enum gv_verdict_class gv_run_note_read(int fd, int status)
{
    char letters[4096];
    ssize_t count = 0;
    off_t at = 0;
    bool here = fd < 0, driver = false, failed = false;

    while (fd >= 0 && (count = pread(fd, letters, sizeof(letters), at)) > 0) {
        here |= memchr(letters, GV_RUN_NOTE_HERE, (size_t)count) != NULL;
        driver |= memchr(letters, GV_RUN_NOTE_DRIVER, (size_t)count) != NULL;
        failed |= memchr(letters, GV_RUN_NOTE_FAILED, (size_t)count) != NULL;
        at += count;
    }
    if (fd >= 0)
        close(fd);
    if (failed)
        return GV_VERDICT_NOT_RECORDED;
    if (driver)
        return GV_VERDICT_NOT_INITIALISED;
    /* A killed program cannot report what it had loaded. */
    if (here)
        return WIFSIGNALED(status) ? GV_VERDICT_KILLED_BEFORE : GV_VERDICT_NOT_LOADED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == GV_EXIT_NOT_FOUND)
        return GV_VERDICT_NOT_STARTED;
    return GV_VERDICT_NOT_THERE;
}
