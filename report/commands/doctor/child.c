#include "report/commands/doctor/doctor.h"
#include "trace/futex.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t child_now_ms(void)
{
    return (int64_t)(gv_monotonic_ns() / 1000000);
}

/* 0 or -errno. */
static int child_read(int from, int64_t most_ms, char *said, size_t size)
{
    struct pollfd ready = {.fd = from, .events = POLLIN};
    int64_t until_ms = child_now_ms() + most_ms, left_ms;
    size_t used = 0;
    ssize_t got = 1;

    said[0] = '\0';
    while (got != 0 && used + 1 < size) {
        left_ms = until_ms - child_now_ms();
        got = left_ms > 0 ? poll(&ready, 1, (int)left_ms) : 0;
        if (got == 0)
            return -ETIMEDOUT;
        if (got > 0)
            got = read(from, said + used, size - 1 - used);
        if (got < 0 && errno != EINTR)
            return -errno;
        used += got > 0 ? (size_t)got : 0;
        said[used] = '\0';
    }
    return 0;
}

int gv_doctor_listen(void (*become)(const void *context), const void *context, int64_t most_ms,
                     char *said, size_t size, int *status)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        int none = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (none >= 0 && dup2(none, 0) == 0 && dup2(ends[1], 1) == 1 && dup2(none, 2) == 2 &&
            setpgid(0, 0) == 0)
            become(context);
        _exit(127);
    }
    int error = child < 0 ? -errno : 0;
    close(ends[1]);
    if (!error) {
        error = child_read(ends[0], most_ms, said, size);
        /* One that has said all may not end by itself. */
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        while (waitpid(child, status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    return error;
}
