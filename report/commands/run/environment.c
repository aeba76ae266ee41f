#include "report/commands/run/environment.h"

#include "report/show/message.h"
#include "report/show/value_text.h"
#include "trace/run_note.h"
#include "trace/settings.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GV_LIBRARY "libgpuverify.so"

int gv_run_self(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length > 0)
        path[length] = '\0';
    return length > 0 ? 0 : -ENOSYS;
}

/* Builds the path `directory`/`relative`, without "..". 1, or 0 if the file does not exist. */
static int run_try(const char *directory, const char *relative, char *path, size_t size)
{
    char candidate[2 * PATH_MAX], resolved[PATH_MAX];

    snprintf(candidate, sizeof(candidate), "%s/%s/" GV_LIBRARY, directory, relative);
    if (!realpath(candidate, resolved))
        return 0;
    return (size_t)snprintf(path, size, "%s", resolved) < size;
}

/* LD_PRELOAD separates its entries by these, and cannot quote them. */
static int run_check_path(const char *path)
{
    return path[strcspn(path, " \t\n:")] ? -EBADF : 0;
}

/* 0; -ENOENT; -ENOSYS: /proc is missing; or -EBADF: it is at `path`, which LD_PRELOAD cannot
 * contain. */
static int run_find_library(char *path, size_t size)
{
    /* GV_LIBRARY_RELATIVE: from the installed program's folder to the library's. */
    static const char *const beside[] = {"../preload", GV_LIBRARY_RELATIVE, "../lib"};
    char directory[PATH_MAX];
    int error = gv_run_self(directory, sizeof(directory));

    if (error)
        return error;
    *strrchr(directory, '/') = '\0';
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
        if (run_try(directory, beside[i], path, size))
            return run_check_path(path);
    return run_try(GV_LIBRARY_FOLDER, ".", path, size) ? run_check_path(path) : -ENOENT;
}

int gv_run_find_library(char *path, size_t size)
{
    int error = run_find_library(path, size);

    if (error == -EBADF)
        gv_message("cannot preload %s: LD_PRELOAD cannot hold a path with a space or a colon; "
                   "install gpuverify in a folder whose path has neither",
                   path);
    else if (error == -ENOSYS)
        gv_message("nothing can be recorded: /proc is not mounted; mount -t proc proc /proc");
    else if (error)
        gv_message("cannot find libgpuverify.so next to gpuverify");
    return error;
}

static int run_set_trace(const char *trace)
{
    char here[PATH_MAX], path[2 * PATH_MAX];

    if (trace[0] == '/')
        return setenv("GPUVERIFY_TRACE", trace, 1) < 0 ? -errno : 0;
    if (!getcwd(here, sizeof(here)))
        return -errno;
    int error = gv_trace_path_absolute(path, sizeof(path), here, trace, true);
    if (error)
        return error;
    return setenv("GPUVERIFY_TRACE", path, 1) < 0 ? -errno : 0;
}

int gv_run_set_environment(const char *library, const char *trace)
{
    const char *others = getenv("LD_PRELOAD");
    size_t size = strlen(library) + (others ? strlen(others) : 0) + 2;
    char *value = malloc(size);
    int error;

    if (!value)
        return -ENOMEM;
    snprintf(value, size, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    error = setenv("LD_PRELOAD", value, 1) < 0 ? -errno : 0;
    free(value);
    if (!error && trace)
        error = run_set_trace(trace);
    return error;
}

int gv_run_set_options(const struct gv_arguments *arguments)
{
    static const char *const settings[][2] = {
#define GV_SETTING_TEXT(field, name, ...) {#field, GV_SETTING_PREFIX #name},
#define GV_SETTING_NUMBER                 GV_SETTING_TEXT
#define GV_SETTING_CHOICE                 GV_SETTING_TEXT
#define GV_SETTING_EXTENT                 GV_SETTING_TEXT
#include "trace/settings.def"
    };

    for (size_t i = 0; i < arguments->given_count; i++)
        for (size_t j = 0; j < sizeof(settings) / sizeof(settings[0]); j++)
            if (strcmp(gv_options[arguments->given[i].option].identifier, settings[j][0]) == 0 &&
                setenv(settings[j][1], arguments->given[i].text, 1) < 0)
                return -errno;
    return 0;
}

bool gv_run_rank(int64_t *rank, int64_t *ranks)
{
    static const char *const launchers[][2] = {
#define GV_LAUNCHER(name, rank, local, size, job, host) {#rank, #size},
#include "trace/launchers.def"
    };

    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const char *own = getenv(launchers[i][0]), *all = getenv(launchers[i][1]);
        int64_t number, count;
        if (own && all && gv_value_number(own, &number) == 0 && gv_value_number(all, &count) == 0 &&
            number < count) {
            *rank = number;
            *ranks = count;
            return count > 1;
        }
    }
    return false;
}

/* What shells and the dynamic loader end with when they cannot start a program. */
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

enum gv_no_trace gv_run_note_read(int fd, int status)
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
        return GV_NO_TRACE_NOT_RECORDED;
    if (driver)
        return GV_NO_TRACE_NOT_INITIALISED;
    /* One that is killed cannot say what it had loaded. */
    if (here)
        return WIFSIGNALED(status) ? GV_NO_TRACE_KILLED_BEFORE : GV_NO_TRACE_NOT_LOADED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == GV_EXIT_NOT_FOUND)
        return GV_NO_TRACE_NOT_STARTED;
    return GV_NO_TRACE_NOT_THERE;
}
