#include "trace/session_id.h"

#include "trace/process_gone.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The parts of /proc/PID/task/PID/stat that are needed. */
struct gv_process_stat {
    char state;
    uint64_t threads;
    uint64_t start_ticks;
};

/* Fields count from 1, as in proc(5). The name in field 2 may contain anything; it ends at the
 * last parenthesis of the line. */
#define GV_STAT_STATE   3u
#define GV_STAT_THREADS 20u
#define GV_STAT_START   22u

static uint64_t session_digits(const char **text)
{
    uint64_t value = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++)
        value = value * 10 + (uint64_t)(**text - '0');
    return value;
}

static int session_parse_stat(const char *line, struct gv_process_stat *stat)
{
    const char *at = strrchr(line, ')');

    if (!at)
        return -EPROTO;
    at++;
    for (unsigned int field = GV_STAT_STATE; field <= GV_STAT_START; field++) {
        if (*at != ' ')
            return -EPROTO;
        at++;
        if (field == GV_STAT_STATE)
            stat->state = *at;
        else if (field == GV_STAT_THREADS)
            stat->threads = session_digits(&at);
        else if (field == GV_STAT_START)
            stat->start_ticks = session_digits(&at);
        at += strcspn(at, " ");
    }
    return 0;
}

static int session_read_stat(uint32_t pid, struct gv_process_stat *stat)
{
    int saved = errno;
    char path[48], line[1024];
    ssize_t got = -1;
    int result;

    /* /proc/PID/stat would sum up the times of all threads. But in a namespace of processes that
     * has another's /proc (`unshare -p`), our number there is somebody else's. */
    if (pid == (uint32_t)getpid())
        snprintf(path, sizeof(path), "/proc/self/stat");
    else
        snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        do
            got = read(fd, line, sizeof(line) - 1);
        while (got < 0 && errno == EINTR);
    }
    result = got < 0 ? -errno : 0;
    if (fd >= 0)
        close(fd);
    errno = saved;
    if (result == -ENOENT || got == 0)
        return -ESRCH;
    if (result < 0)
        return result;
    line[got] = '\0';
    return session_parse_stat(line, stat);
}

int gv_session_read_start_ticks(uint32_t pid, uint64_t *ticks)
{
    struct gv_process_stat stat = {0};
    int result = session_read_stat(pid, &stat);

    *ticks = stat.start_ticks;
    return result;
}

void gv_session_id_write(char id[GV_SESSION_ID_BYTES], uint32_t pid, uint64_t start_ticks,
                         uint32_t random)
{
    snprintf(id, GV_SESSION_ID_BYTES, "%u-%llu-%08x", pid, (unsigned long long)start_ticks, random);
}

uint32_t gv_session_random(void)
{
    int saved = errno;
    uint32_t value;
    struct timespec now;

    /* Never block: a machine that has just booted may have no randomness yet. */
    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        value = (uint32_t)now.tv_nsec * 2654435761u ^ (uint32_t)getpid();
    }
    errno = saved;
    return value;
}

int gv_session_id_make(char id[GV_SESSION_ID_BYTES])
{
    uint32_t pid = (uint32_t)getpid();
    uint64_t ticks;
    int result = gv_session_read_start_ticks(pid, &ticks);

    if (result < 0)
        return result;
    gv_session_id_write(id, pid, ticks, gv_session_random());
    return 0;
}

int gv_session_id_parse(const char *id, uint32_t *pid, uint64_t *start_ticks)
{
    const char *at = id;
    uint64_t number, ticks;

    if (strnlen(id, GV_SESSION_ID_BYTES) >= GV_SESSION_ID_BYTES)
        return -EINVAL;
    number = session_digits(&at);
    if (at == id || number == 0 || number > INT32_MAX || *at++ != '-')
        return -EINVAL;
    const char *second = at;
    ticks = session_digits(&at);
    if (at == second || *at++ != '-')
        return -EINVAL;
    if (strlen(at) != 8 || strspn(at, "0123456789abcdef") != 8)
        return -EINVAL;
    *pid = (uint32_t)number;
    *start_ticks = ticks;
    return 0;
}

/* A main thread that has ended looks like a zombie while other threads continue. */
static bool session_is_zombie(const struct gv_process_stat *stat)
{
    return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

bool gv_session_has_ended(uint32_t pid)
{
    struct gv_process_stat stat = {0};

    return gv_process_is_gone(pid) ||
           (session_read_stat(pid, &stat) == 0 && session_is_zombie(&stat));
}

/* Without /proc: it may be hidden (hidepid), or no descriptor is left. */
static enum gv_session_life session_pid_life(uint32_t pid)
{
    int saved = errno;
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    enum gv_session_life life = GV_SESSION_ALIVE;

    if (end.fd >= 0) {
        if (poll(&end, 1, 0) > 0)
            life = GV_SESSION_ZOMBIE;
        close(end.fd);
    } else if (errno == ESRCH || gv_process_is_gone(pid)) {
        life = GV_SESSION_GONE;
    }
    errno = saved;
    return life;
}

enum gv_session_life gv_session_process_life(uint32_t pid, uint64_t start_ticks)
{
    struct gv_process_stat stat = {0};
    int result = session_read_stat(pid, &stat);

    if (result < 0)
        return session_pid_life(pid);
    if (stat.start_ticks != start_ticks)
        return GV_SESSION_GONE;
    return session_is_zombie(&stat) ? GV_SESSION_ZOMBIE : GV_SESSION_ALIVE;
}

bool gv_session_is_last_thread(void)
{
    struct gv_process_stat stat = {0};

    return session_read_stat((uint32_t)getpid(), &stat) == 0 && stat.state == 'Z' &&
           stat.threads == 2;
}
