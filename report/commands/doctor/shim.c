/* A script in place of Python: only running it shows which program it starts. */
#include "report/commands/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GV_SHIM_MOST_MS 10000

/* In the child. */
static void shim_become(const char *name, int out)
{
    int none = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (none < 0 || dup2(none, 0) < 0 || dup2(out, 1) < 0 || dup2(none, 2) < 0)
        _exit(127);
    setpgid(0, 0);
    unsetenv("LD_PRELOAD");
    execlp(name, name, "-c", "import os; print(os.readlink('/proc/self/exe'))", (char *)NULL);
    _exit(127);
}

static int64_t shim_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads its output until it closes it, or until it is too much. 0 or -errno. */
static int shim_listen(int from, char *out, size_t size)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int64_t until_ms = shim_now_ms() + GV_SHIM_MOST_MS, left_ms;
    size_t used = 0;
    ssize_t got = 1;

    while (got != 0 && used + 1 < size) {
        left_ms = until_ms - shim_now_ms();
        got = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
        if (got == 0)
            return -ETIMEDOUT;
        if (got > 0)
            got = read(from, out + used, size - 1 - used);
        if (got < 0 && errno != EINTR)
            return -errno;
        used += got > 0 ? (size_t)got : 0;
    }
    out[used] = '\0';
    return 0;
}

int gv_doctor_ask_python(const char *name, char path[PATH_MAX])
{
    char said[PATH_MAX];
    int ends[2], error;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    if (child == 0)
        shim_become(name, ends[1]);
    error = child < 0 ? -errno : 0;
    close(ends[1]);
    if (!error) {
        error = shim_listen(ends[0], said, sizeof(said));
        /* It has answered, and may not end by itself. */
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (error)
        return error;
    said[strcspn(said, "\n")] = '\0';
    return said[0] == '/' && realpath(said, path) ? 0 : -ENOENT;
}
