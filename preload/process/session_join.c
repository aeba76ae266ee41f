#include "preload/process/attach.h"

#include "preload/base/clock.h"
#include "preload/base/log.h"
#include "preload/process/start_place.h"
#include "trace/call_table.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/spool_hold.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM_BYTES     128
#define READY_PATIENCE_MS 1000 /* for the process that is making the session */
#define JOIN_TRIES        5    /* when its collector is just ending */
#define MOST_PLACES       4    /* the shared one, the one beside the trace, and that one again */
#define LEAST_SEGMENTS    (2 * GV_SPOOL_GROWTH_SEGMENTS) /* or not in shared memory */

/* ---- where the trace goes ---- */

static int trace_path(const struct gv_settings *settings, char *path, size_t bytes)
{
    char program[PROGRAM_BYTES]; /* a file's name has at most 255 characters */
    struct gv_trace_owner owner = {
        .pid = (uint32_t)getpid(), .program = program, .directory = gv_start_place()};

    gv_process_program_name(program, sizeof program);
    return gv_trace_path_expand(path, bytes, settings->trace, &owner);
}

/* ---- where the shared memory goes ---- */

/* It must be ours: another user's directory with that name could contain anything. */
static int use_directory(const char *path)
{
    struct stat status;
    bool made = false;

    if (mkdir(path, 0700) == 0)
        made = true;
    else if (errno != EEXIST)
        return -errno;
    if (made && chmod(path, 0700) < 0) /* undoes the program's umask */
        return -errno;
    if (lstat(path, &status) < 0)
        return -errno;
    if (!S_ISDIR(status.st_mode))
        return -ENOTDIR;
    if (status.st_uid != geteuid() || (status.st_mode & 022))
        return -EPERM;
    return access(path, W_OK | X_OK) < 0 ? -errno : 0;
}

static int choose_directory(const struct gv_settings *settings, const char *trace, int attempt,
                            char *path, size_t bytes)
{
    int error = attempt == 0 ? gv_trace_path_shared(path, bytes, settings, gv_start_place())
                             : gv_trace_path_beside(path, bytes, trace);

    return error ? error : use_directory(path);
}

/* ---- the session file ---- */

/* The Linux kernel's number of the namespace; 0 if /proc does not show it. */
static uint64_t pid_namespace(void)
{
    struct stat status;

    return stat("/proc/thread-self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static int fill_session(const struct gv_process *process, const char *trace)
{
    struct gv_session_file *session = process->session;
    int error =
        gv_session_id_parse(process->session_id, &session->root_pid, &session->root_start_ticks);

    if (error)
        return error;
    memcpy(session->magic, GV_SESSION_MAGIC, sizeof GV_SESSION_MAGIC);
    session->pid_namespace = pid_namespace();
    atomic_store(&session->stopped, process->settings.start == GV_START_LATER);
    gv_clock_calibrate(&session->clock, process->settings.clock);
    memcpy(session->session, process->session_id, sizeof session->session);
    snprintf(session->trace_path, sizeof session->trace_path, "%s", trace);
    atomic_store_explicit(&session->ready, 1, memory_order_release);
    return 0;
}

static int wait_until_ready(const struct gv_session_file *session)
{
    for (int i = 0; i < READY_PATIENCE_MS; i++) {
        if (atomic_load_explicit(&session->ready, memory_order_acquire))
            return 0;
        gv_pause_ns(1000000);
    }
    return -ETIMEDOUT;
}

/*
 * Opens the file again: a mapping keeps its open file alive, and with it a lock, which would
 * outlive the collector.
 */
static int map_session(struct gv_process *process, int fd)
{
    size_t bytes = sizeof *process->session;
    struct rlimit limit;
    char again[32];
    void *mapping;
    int other;
    int error;

    if (fchmod(fd, 0600) < 0)
        return -errno;
    /* A file larger than this would cause a deadly SIGXFSZ. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return -EFBIG;
    error = -posix_fallocate(fd, 0, (off_t)bytes);
    if (error)
        return error;
    snprintf(again, sizeof again, "/proc/thread-self/fd/%d", fd);
    other = open(again, O_RDWR | O_CLOEXEC);
    if (other < 0)
        return -errno;
    mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
    error = mapping == MAP_FAILED ? -errno : 0;
    close(other);
    if (error)
        return error;
    process->session = mapping;
    return 0;
}

/* Tries twice, because an ending process may lock it for a moment to test it. */
static bool take_lock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    gv_pause_ns(1000000);
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Opens or makes it. `*locked`: no collector lives, and this process may start one. */
static int open_session(struct gv_process *process, const char *trace, int *fd, bool *locked)
{
    int error;

    *fd = open(process->session_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (*fd < 0)
        return -errno;
    *locked = take_lock(*fd);
    error = map_session(process, *fd);
    if (error)
        return error;
    if (*locked && !atomic_load(&process->session->ready))
        error = fill_session(process, trace);
    if (!error)
        error = wait_until_ready(process->session);
    if (!error && process->session->pid_namespace != pid_namespace())
        error = -EXDEV;
    return error;
}

static bool is_still_there(const char *path, int fd)
{
    struct stat by_path, by_fd;

    return lstat(path, &by_path) == 0 && fstat(fd, &by_fd) == 0 && by_path.st_ino == by_fd.st_ino &&
           by_path.st_dev == by_fd.st_dev;
}

/* With less, records would be lost soon. */
static bool has_room(const struct gv_spool_header *header)
{
    uint32_t least =
        LEAST_SEGMENTS < header->segment_limit ? LEAST_SEGMENTS : header->segment_limit;

    return atomic_load(&header->limit) >= least;
}

static int make_spool(struct gv_process *process, const char *directory, bool is_shared)
{
    static struct gv_spool_name names[GV_API_COUNT];
    char path[GV_SPOOL_PATH_BYTES];
    uint64_t identity = (uint64_t)gv_session_random() << 32 | gv_session_random() | 1;
    int error;

    for (int api = 0; api < GV_API_COUNT; api++) {
        const struct gv_api_row *row = &gv_api_rows[api];

        names[api].class_index = (uint8_t)row->class;
        strncpy(names[api].class_name, gv_api_class_rows[row->class].name,
                sizeof names[api].class_name - 1);
        strncpy(names[api].name, row->name, sizeof names[api].name - 1);
    }
    error = gv_trace_path_format(path, sizeof path, "%s/%s.%d.%016llx" GV_SPOOL_SUFFIX, directory,
                                 process->session_id, (int)getpid(), (unsigned long long)identity);
    if (error)
        return error;
    error = gv_spool_writer_create(&process->spool, path, (uint64_t)process->settings.spool_mb,
                                   identity, names, GV_API_COUNT);
    if (error)
        return error;
    if (is_shared && !has_room(process->spool.header)) {
        gv_spool_writer_close(&process->spool, true);
        return -ENOSPC;
    }
    process->spool.header->held = gv_spool_hold(path, &process->hold) == 0;
    process->spool.header->clock = process->session->clock;
    process->spool.bell = &process->session->doorbell;
    return 0;
}

static void let_go(struct gv_process *process, int *fd)
{
    if (process->session)
        munmap(process->session, sizeof *process->session);
    process->session = NULL;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int join_in(struct gv_process *process, const char *directory, bool is_shared,
                   const char *trace, int *lock_fd)
{
    int error = gv_trace_path_format(process->session_path, sizeof process->session_path,
                                     "%s/%s" GV_SESSION_SUFFIX, directory, process->session_id);

    for (int tries = 0; !error && tries < JOIN_TRIES; tries++) {
        bool locked = false;
        int fd = -1;

        error = open_session(process, trace, &fd, &locked);
        if (!error)
            error = make_spool(process, directory, is_shared);
        if (error) {
            if (locked && error != -EXDEV)
                unlink(process->session_path);
            let_go(process, &fd);
            break;
        }
        if (is_still_there(process->session_path, fd)) {
            if (locked)
                *lock_fd = fd;
            else
                close(fd);
            return 0;
        }
        /* Its collector has just ended, and may have looked for spools before ours existed. */
        gv_spool_writer_close(&process->spool, true);
        gv_spool_let_go(&process->hold);
        let_go(process, &fd);
        error = 0;
    }
    return error ? error : -EAGAIN;
}

/* For example /dev/null: report it now, record nothing. */
static bool is_special(const char *trace)
{
    struct stat status;

    if (stat(trace, &status) < 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
        return false;
    gv_log_error("nothing is recorded: %s is a device or a pipe, not a file", trace);
    return true;
}

int gv_session_join(struct gv_process *process, int *lock_fd)
{
    /* Static, because one thread attaches, and its stack may be as small as 16 kB. */
    static char directory[GV_SPOOL_PATH_BYTES];
    static char trace[GV_SESSION_PATH_BYTES];
    int error;

    *lock_fd = -1;
    error = trace_path(&process->settings, trace, sizeof trace);
    if (error)
        return error;
    if (is_special(trace))
        return -ECANCELED;
    for (int attempt = 0; attempt < MOST_PLACES; attempt++) {
        error = choose_directory(&process->settings, trace, attempt, directory, sizeof directory);
        bool is_usable = !error;
        if (!error)
            error = join_in(process, directory, attempt == 0, trace, lock_fd);
        /* We are in our own pid namespace, where that session's collector could not see whether
         * we live. So this is the first process of another session. */
        if (error == -EXDEV && gv_session_id_make(process->session_id) == 0)
            error = join_in(process, directory, attempt == 0, trace, lock_fd);
        if (!error)
            return 0;
        gv_log_info("no shared memory files in %s: %s", directory, strerror(-error));
        if (is_usable)
            gv_trace_path_leave(directory);
        /* Another session has just removed the directory beside the trace. */
        if (attempt > 0 && !(is_usable && error == -ENOENT))
            break;
    }
    snprintf(process->session_path, sizeof process->session_path, "%s", directory);
    return error;
}
