#include "trace/thread_state.h"

#include "trace/proc_file.h"
#include "trace/schedstat.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>

#define STAT_BYTES   1024 /* 52 numbers and a name */
#define CALL_BYTES   256
#define FDINFO_BYTES 2048
#define FILES_MOST   16u /* of one poll() that are looked at */

static bool is_one_of(int32_t call, const short *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i] == call)
            return true;
    return false;
}
#define IS_ONE_OF(call, calls) is_one_of(call, calls, sizeof(calls) / sizeof(calls)[0])

/* Their first argument is the file. */
static const short file_calls[] = {
    SYS_read,     SYS_write,           SYS_readv,     SYS_writev,          SYS_pread64,
    SYS_pwrite64, SYS_preadv,          SYS_pwritev,   SYS_preadv2,         SYS_pwritev2,
    SYS_fsync,    SYS_fdatasync,       SYS_syncfs,    SYS_ftruncate,       SYS_fallocate,
    SYS_flock,    SYS_fcntl,           SYS_ioctl,     SYS_getdents64,      SYS_sendfile,
    SYS_splice,   SYS_sync_file_range, SYS_readahead, SYS_copy_file_range, SYS_connect,
    SYS_accept,   SYS_accept4,         SYS_recvfrom,  SYS_recvmsg,         SYS_recvmmsg,
    SYS_sendto,   SYS_sendmsg,         SYS_sendmmsg,
};

static const short poll_calls[] = {
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_ppoll,
};

static const short select_calls[] = {
#ifdef SYS_select
    SYS_select,
#endif
    SYS_pselect6,
};

static const short epoll_calls[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
};

static const short wait_calls[] = {SYS_wait4, SYS_waitid};

static const short futex_calls[] = {
    SYS_futex,
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
};

bool gv_thread_state_is_futex(const struct gv_thread_state *state)
{
    return IS_ONE_OF(state->call, futex_calls);
}

bool gv_thread_state_is_wait(const struct gv_thread_state *state)
{
    return IS_ONE_OF(state->call, wait_calls);
}

bool gv_thread_state_is_poll(const struct gv_thread_state *state)
{
    return IS_ONE_OF(state->call, poll_calls) || IS_ONE_OF(state->call, select_calls) ||
           IS_ONE_OF(state->call, epoll_calls);
}

/* ---- the texts of /proc ---- */

/* Reads the next number of a text, and skips blanks before it. False: no number follows. */
static bool take_number(const char **at, int base, uint64_t *number)
{
    char *end;

    while (**at == ' ')
        (*at)++;
    if (**at == '-' || **at == '+')
        return false;
    *number = strtoull(*at, &end, base);
    if (end == *at)
        return false;
    *at = end;
    return true;
}

bool gv_thread_state_parse_stat(const char *text, struct gv_thread_state *state)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
    uint64_t user = 0, system = 0;
    size_t bytes;

    state->state = '?';
    state->comm[0] = 0;
    state->ticks = 0;
    if (!open || !close || close < open || close[1] != ' ' || close[2] < 'A' || close[2] > 'z')
        return false;
    bytes = (size_t)(close - open - 1);
    if (bytes >= sizeof state->comm)
        bytes = sizeof state->comm - 1;
    memcpy(state->comm, open + 1, bytes);
    state->comm[bytes] = 0;
    state->state = close[2];
    at = close + 3;
    for (int field = 4; field < 14; field++) { /* some are negative */
        while (*at == ' ')
            at++;
        while (*at && *at != ' ')
            at++;
    }
    if (take_number(&at, 10, &user) && take_number(&at, 10, &system))
        state->ticks = user + system;
    return true;
}

bool gv_thread_state_parse_call(const char *text, struct gv_thread_state *state)
{
    bool in_call = text[0] != '-';
    uint64_t number = 0;

    state->call = GV_THREAD_NO_CALL;
    state->sp = state->pc = 0;
    memset(state->arguments, 0, sizeof state->arguments);
    if (in_call) { /* "running" has no number */
        if (!take_number(&text, 10, &number) || number > INT16_MAX)
            return false;
        for (int i = 0; i < 6; i++)
            if (!take_number(&text, 16, &state->arguments[i]))
                return false;
    } else if (strncmp(text, "-1 ", 3) == 0) {
        text += 3;
    } else {
        return false;
    }
    if (!take_number(&text, 16, &state->sp) || !take_number(&text, 16, &state->pc)) {
        state->sp = state->pc = 0;
        return false;
    }
    if (in_call)
        state->call = (int32_t)number;
    return true;
}

bool gv_thread_state_parse_times(const char *text, struct gv_thread_state *state)
{
    const char *at = text;

    state->cpu_ns = state->delay_ns = 0;
    return gv_schedstat_delay(text, &state->delay_ns) && take_number(&at, 10, &state->cpu_ns);
}

static bool is_gone(int error)
{
    return error == -ENOENT || error == -ESRCH;
}

void gv_thread_files_close(struct gv_thread_files *files)
{
    const int open[] = {files->call, files->stat, files->times};

    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        if (open[i] >= 0)
            syscall(SYS_close, open[i]);
    *files = GV_THREAD_NO_FILES;
}

static int read_state(const char *folder, bool is_process, struct gv_thread_files *files,
                      struct gv_thread_state *state)
{
    char text[STAT_BYTES];
    int error;

    memset(state, 0, sizeof *state);
    state->state = '?';
    state->call = GV_THREAD_NO_CALL;
    /* First: a thread that runs afterwards has other times at the next look. Then the call, because
     * a call without a state is worse than a state without a call. */
    if (gv_proc_read_again(&files->times, text, GV_SCHEDSTAT_BYTES, folder, "schedstat") > 0)
        gv_thread_state_parse_times(text, state);
    error = gv_proc_read_again(&files->call, text, CALL_BYTES, folder, "syscall");
    if (error > 0 && strcmp(text, "running\n") == 0 && !is_process) {
        state->state = 'R';
    } else {
        if (error > 0)
            gv_thread_state_parse_call(text, state);
        error = gv_proc_read_again(&files->stat, text, sizeof text, folder, "stat");
        if (error > 0)
            gv_thread_state_parse_stat(text, state);
    }
    return is_gone(error) || state->state == 'Z' || state->state == 'X' ? -ESRCH : 0;
}

int gv_thread_state_read(uint32_t pid, uint32_t tid, struct gv_thread_files *files,
                         struct gv_thread_state *state)
{
    struct gv_thread_files none = GV_THREAD_NO_FILES;
    char folder[64];
    int error;

    snprintf(folder, sizeof folder, "/proc/%u/task/%u", pid, tid);
    error = read_state(folder, false, files ? files : &none, state);
    gv_thread_files_close(&none);
    return error;
}

int gv_thread_state_times(uint32_t pid, uint32_t tid, struct gv_thread_files *files,
                          struct gv_thread_state *state)
{
    struct gv_thread_files none = GV_THREAD_NO_FILES;
    char text[GV_SCHEDSTAT_BYTES], folder[64];
    int bytes;

    snprintf(folder, sizeof folder, "/proc/%u/task/%u", pid, tid);
    bytes = gv_proc_read_again(files ? &files->times : &none.times, text, sizeof text, folder,
                               "schedstat");
    gv_thread_files_close(&none);
    if (bytes < 0)
        return bytes;
    return gv_thread_state_parse_times(text, state) ? 0 : -EINVAL;
}

int gv_process_state_read(uint32_t pid, struct gv_thread_state *state)
{
    struct gv_thread_files files = GV_THREAD_NO_FILES;
    char folder[64];
    int error;

    snprintf(folder, sizeof folder, "/proc/%u", pid);
    error = read_state(folder, true, &files, state);
    gv_thread_files_close(&files);
    return error;
}

/* ---- what a call is about ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum gv_idle_target gv_thread_state_target_of_name(const char *name)
{
    if (begins(name, "pipe:"))
        return GV_IDLE_TARGET_PIPE;
    if (begins(name, "socket:"))
        return GV_IDLE_TARGET_SOCKET;
    if (begins(name, "/dev/pts/") || begins(name, "/dev/tty") || begins(name, "/dev/console"))
        return GV_IDLE_TARGET_TERMINAL;
    if (begins(name, "/dev/shm/"))
        return GV_IDLE_TARGET_FILE;
    return begins(name, "/dev/") || name[0] != '/' ? GV_IDLE_TARGET_OTHER : GV_IDLE_TARGET_FILE;
}

static bool is_socket(enum gv_idle_target target)
{
    return target == GV_IDLE_TARGET_SOCKET || target == GV_IDLE_TARGET_NETWORK;
}

/* The Linux kernel says its protocol: TCP, UDPv6, UNIX-STREAM, ... False also if it does not. */
static bool is_of_network(const char *link)
{
    char protocol[32] = "";

    return syscall(SYS_getxattr, link, "system.sockprotoname", protocol, sizeof protocol) > 1 &&
           !begins(protocol, "UNIX");
}

/* Through the thread's folder: ours has other files open (watch.c). */
static enum gv_idle_target target_of_file(uint32_t pid, uint32_t tid, int fd, char *path,
                                          size_t size)
{
    char link[GV_PROC_PATH_BYTES];
    enum gv_idle_target target;
    long bytes;

    path[0] = 0;
    snprintf(link, sizeof link, "/proc/%u/task/%u/fd/%d", pid, tid, fd);
    bytes = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
    if (bytes <= 0) {
        path[0] = 0;
        return GV_IDLE_TARGET_NONE;
    }
    path[bytes] = 0;
    target = gv_thread_state_target_of_name(path);
    if (target != GV_IDLE_TARGET_FILE)
        path[0] = 0;
    if (target == GV_IDLE_TARGET_SOCKET && is_of_network(link))
        target = GV_IDLE_TARGET_NETWORK;
    return target;
}

/* The files of a call that waits for several. */
static unsigned files_of_poll(const struct gv_thread_state *state, gv_thread_memory_read *read,
                              void *context, int files[FILES_MOST])
{
    struct pollfd polled[FILES_MOST] = {{0}};
    unsigned count = state->arguments[1] < FILES_MOST ? (unsigned)state->arguments[1] : FILES_MOST;

    if (!read(context, polled, state->arguments[0], count * sizeof polled[0]))
        return 0;
    for (unsigned i = 0; i < count; i++)
        files[i] = polled[i].fd;
    return count;
}

static unsigned files_of_select(const struct gv_thread_state *state, gv_thread_memory_read *read,
                                void *context, int files[FILES_MOST])
{
    unsigned count = 0;
    fd_set set;

    for (int argument = 1; argument < 4; argument++) {
        uint64_t most = state->arguments[0] < FD_SETSIZE ? state->arguments[0] : FD_SETSIZE;

        if (!state->arguments[argument])
            continue;
        FD_ZERO(&set);
        /* The Linux kernel reads whole words. */
        if (!read(context, &set, state->arguments[argument], (most + 63) / 64 * 8))
            continue;
        for (int fd = 0; (uint64_t)fd < most && count < FILES_MOST; fd++)
            if (FD_ISSET(fd, &set))
                files[count++] = fd;
    }
    return count;
}

static unsigned files_of_epoll(uint32_t pid, uint32_t tid, const struct gv_thread_state *state,
                               int files[FILES_MOST])
{
    char text[FDINFO_BYTES];
    unsigned count = 0;
    uint64_t fd;

    if (gv_proc_read(text, sizeof text, "/proc/%u/task/%u/fdinfo/%d", pid, tid,
                     (int)state->arguments[0]) <= 0)
        return 0;
    for (const char *at = text; count < FILES_MOST && (at = strstr(at, "tfd:"));) {
        at += 4;
        if (take_number(&at, 10, &fd))
            files[count++] = (int)fd;
    }
    return count;
}

enum gv_idle_target gv_thread_state_target(uint32_t pid, uint32_t tid,
                                           const struct gv_thread_state *state,
                                           gv_thread_memory_read *read, void *context, char *path,
                                           size_t size)
{
    enum gv_idle_target target = GV_IDLE_TARGET_NONE;
    int files[FILES_MOST];
    unsigned count = 0;

    path[0] = 0;
    if (IS_ONE_OF(state->call, file_calls))
        return target_of_file(pid, tid, (int)state->arguments[0], path, size);
    if (IS_ONE_OF(state->call, epoll_calls))
        count = files_of_epoll(pid, tid, state, files);
    else if (read && IS_ONE_OF(state->call, poll_calls))
        count = files_of_poll(state, read, context, files);
    else if (read && IS_ONE_OF(state->call, select_calls))
        count = files_of_select(state, read, context, files);
    for (unsigned i = 0; i < count && !is_socket(target); i++)
        if (target == GV_IDLE_TARGET_NONE)
            target = target_of_file(pid, tid, files[i], path, size);
        else {
            char other[64];
            enum gv_idle_target next = target_of_file(pid, tid, files[i], other, sizeof other);

            if (is_socket(next)) {
                target = next;
                path[0] = 0;
            }
        }
    return target;
}
