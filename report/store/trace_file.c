#include "report/store/trace_file.h"

#include "report/store/database.h"
#include "report/store/schema.h"
#include "trace/futex.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define GV_TRACE_FILE_TRIES    1000
#define GV_TRACE_FILE_BUSY_MS  1000
#define GV_TRACE_FILE_PAUSE_NS 10000000
#define GV_TRACE_FILE_PAUSES   50
/* A journal that stays longer is a killed collector's, and SQLite deletes it. */
#define GV_TRACE_FILE_JOURNAL_PAUSES 200
/* Offsets in the first bytes of an SQLite file. */
#define GV_SQLITE_HEADER_BYTES       100
#define GV_SQLITE_APPLICATION_OFFSET 68

/* 0: the first bytes are a trace's, or not written yet; -ENODATA: the file is empty; -EPROTO;
 * -errno. */
static int trace_file_check_header(int fd)
{
    unsigned char header[GV_SQLITE_HEADER_BYTES];
    ssize_t got = pread(fd, header, sizeof(header), 0);
    const unsigned char *id = header + GV_SQLITE_APPLICATION_OFFSET;

    if (got < 0)
        return -errno;
    if (got == 0)
        return -ENODATA;
    /* The first transaction of a killed collector may have written only other pages. */
    if (got == (ssize_t)sizeof(header) && header[0] == 0 &&
        memcmp(header, header + 1, sizeof(header) - 1) == 0)
        return 0;
    if (got < (ssize_t)sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
        return -EPROTO;
    uint32_t application =
        (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3];
    return application == GV_SCHEMA_APPLICATION_ID ? 0 : -EPROTO;
}

/* A journal of several databases names a file with their names, which SQLite deletes after it has
 * rolled back. gpuverify writes none, but anybody can put one next to a trace. */
static bool trace_file_names_other(const char *journal)
{
    static const unsigned char mark[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char last[sizeof(mark)] = {0};
    int fd = open(journal, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    bool found = bytes >= (off_t)sizeof(mark) &&
                 pread(fd, last, sizeof(last), bytes - (off_t)sizeof(mark)) == sizeof(last) &&
                 memcmp(last, mark, sizeof(mark)) == 0;

    if (fd >= 0)
        close(fd);
    return found;
}

bool gv_trace_file_beside(const char *path, size_t number, char name[GV_TRACE_FILE_BESIDE_BYTES])
{
    static const char *const suffixes[] = {"-journal", "-wal", "-shm"};

    if (number >= sizeof(suffixes) / sizeof(suffixes[0]))
        return false;
    snprintf(name, GV_TRACE_FILE_BESIDE_BYTES, "%s%s", path, suffixes[number]);
    return true;
}

/* SQLite would open it, and wait for ever for the other end of a pipe. 0 or -EMEDIUMTYPE. */
static int trace_file_check_journals(const char *path)
{
    char journal[GV_TRACE_FILE_BESIDE_BYTES];
    struct stat status;

    for (size_t i = 0; gv_trace_file_beside(path, i, journal); i++)
        if (lstat(journal, &status) == 0 &&
            (!S_ISREG(status.st_mode) || trace_file_names_other(journal)))
            return -EMEDIUMTYPE;
    return 0;
}

static int trace_file_open_checked(const char *path, int *fd)
{
    struct stat status;
    int error;

    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return -errno;
    if (fstat(*fd, &status) < 0)
        error = -errno;
    else if (!S_ISREG(status.st_mode))
        error = -EPROTO;
    else
        error = trace_file_check_header(*fd);
    if (!error || error == -ENODATA)
        error = trace_file_check_journals(path) ? -EMEDIUMTYPE : error;
    if (error && error != -ENODATA) {
        close(*fd);
        *fd = -1;
    }
    return error;
}

static void trace_file_take_row(sqlite3_stmt *rows, struct gv_trace_probe *probe)
{
    const char *key = (const char *)sqlite3_column_text(rows, 0);
    const char *value = (const char *)sqlite3_column_text(rows, 1);

    if (!key || !value)
        return;
    if (strcmp(key, "session") == 0)
        snprintf(probe->session, sizeof(probe->session), "%s", value);
    else if (strcmp(key, "spool_directory") == 0)
        snprintf(probe->spool_directory, sizeof(probe->spool_directory), "%s", value);
    else if (strcmp(key, "state") == 0)
        probe->complete = strcmp(value, "complete") == 0;
}

/* The file may be anybody's: a view or a virtual table with that name could do anything. */
static int trace_file_check_meta(sqlite3 *handle)
{
    sqlite3_stmt *found = NULL;
    int result = sqlite3_prepare_v2(handle,
                                    "SELECT 1 FROM sqlite_master WHERE name = 'meta'"
                                    " AND type = 'table' AND sql LIKE 'CREATE TABLE meta (%'",
                                    -1, &found, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(found);
    sqlite3_finalize(found);
    return result == SQLITE_ROW ? SQLITE_OK : result == SQLITE_DONE ? SQLITE_NOTADB : result;
}

static int trace_file_read_meta_as(const char *path, int flags, struct gv_trace_probe *probe)
{
    sqlite3 *handle = NULL;
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_open_v2(path, &handle, flags, NULL);

    if (result == SQLITE_OK) {
        sqlite3_busy_timeout(handle, GV_TRACE_FILE_BUSY_MS);
        result = gv_database_distrust(handle) ? SQLITE_ERROR : trace_file_check_meta(handle);
    }
    if (result == SQLITE_OK) {
        result = sqlite3_prepare_v2(handle,
                                    "SELECT key, value FROM meta WHERE key IN"
                                    " ('session', 'spool_directory', 'state')",
                                    -1, &rows, NULL);
    }
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(rows);
        if (result == SQLITE_ROW)
            trace_file_take_row(rows, probe);
    }
    sqlite3_finalize(rows);
    sqlite3_close(handle);
    if (result == SQLITE_BUSY || result == SQLITE_LOCKED)
        return -EBUSY;
    if ((result & 0xff) == SQLITE_CORRUPT)
        return -EUCLEAN;
    return result == SQLITE_DONE ? 0 : -EPROTO;
}

/* 0; -ENOLCK: the file system has no locks of bytes. SQLite would take that for somebody else's
 * lock, and wait, or for a damaged file. */
static int trace_file_lock_bytes(int fd)
{
    struct flock byte = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    int error = fcntl(fd, F_SETLK, &byte) < 0 && errno != EAGAIN && errno != EACCES ? -ENOLCK : 0;

    byte.l_type = F_UNLCK;
    fcntl(fd, F_SETLK, &byte);
    return error;
}

/* Writing is only needed to roll back what a killed collector had not committed. -ENODATA: that was
 * all. */
static int trace_file_read_meta(const char *path, int fd, struct gv_trace_probe *probe)
{
    int error = trace_file_lock_bytes(fd);

    if (error)
        return error;
    error = trace_file_read_meta_as(path, SQLITE_OPEN_READONLY, probe);
    if (error == -EPROTO || error == -EUCLEAN)
        error = trace_file_read_meta_as(path, SQLITE_OPEN_READWRITE, probe);
    if (error && error != -EBUSY && trace_file_check_header(fd) == -ENODATA)
        return -ENODATA;
    return error;
}

int gv_trace_file_probe(const char *path, struct gv_trace_probe *probe)
{
    int fd, error;

    memset(probe, 0, sizeof(*probe));
    error = trace_file_open_checked(path, &fd);
    if (!error)
        error = trace_file_read_meta(path, fd, probe);
    if (fd >= 0)
        close(fd);
    return error;
}

/* SQLite rolls back if there is no writer, and does nothing if there is one. By its own connection,
 * because a closed descriptor would drop our locks. */
static int trace_file_before_statement(unsigned int event, void *trace, void *statement, void *text)
{
    const char *path = sqlite3_db_filename(trace, "main");
    char journal[GV_TRACE_FILE_BESIDE_BYTES];
    sqlite3 *writer = NULL;

    (void)event, (void)statement, (void)text;
    gv_trace_file_beside(path, 0, journal);
    if (access(journal, F_OK) < 0 || trace_file_check_journals(path))
        return 0;
    if (sqlite3_open_v2(path, &writer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL) ==
            SQLITE_OK &&
        gv_database_distrust(writer) == 0)
        sqlite3_exec(writer, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
    sqlite3_close(writer);
    return 0;
}

int gv_trace_file_roll_back(sqlite3 *trace)
{
    return gv_database_error(
        trace, sqlite3_trace_v2(trace, SQLITE_TRACE_STMT, trace_file_before_statement, trace));
}

bool gv_trace_file_session_remains(const char *directory, const char *session)
{
    DIR *stream = opendir(directory);
    size_t length = strlen(session);
    bool remains = false;
    struct dirent *entry;

    if (!stream)
        return false;
    while (!remains && (entry = readdir(stream)))
        remains = strncmp(entry->d_name, session, length) == 0 && entry->d_name[length] == '.';
    closedir(stream);
    return remains;
}

/*
 * The file that this process made. It stays open and locked until the process ends, because an
 * empty file whose owner lives is not an old one. It is never closed earlier: closing any
 * descriptor of a file drops SQLite's locks on it.
 */
static struct {
    int fd;
    dev_t device;
    ino_t inode;
} gv_trace_file_own = {.fd = -1};

static bool trace_file_is_own(const struct stat *status)
{
    return gv_trace_file_own.fd >= 0 && status->st_dev == gv_trace_file_own.device &&
           status->st_ino == gv_trace_file_own.inode;
}

/* 0; -EAGAIN: another process mistook the new file for an old one, and removed it; others: the file
 * system has no locks. */
static int trace_file_keep(const char *path, int fd)
{
    struct stat opened, named;
    int error;

    if (flock(fd, LOCK_SH | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    error = trace_file_lock_bytes(fd);
    if (error)
        return error;
    if (fstat(fd, &opened) < 0 || lstat(path, &named) < 0 || opened.st_dev != named.st_dev ||
        opened.st_ino != named.st_ino)
        return -EAGAIN;
    if (gv_trace_file_own.fd >= 0) /* taken away; only read from now on, and given up soon */
        close(gv_trace_file_own.fd);
    gv_trace_file_own.fd = fd;
    gv_trace_file_own.device = opened.st_dev;
    gv_trace_file_own.inode = opened.st_ino;
    return 0;
}

bool gv_trace_file_is_being_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return locked;
}

/* Removes the file open on `fd`, unless its path now has another file. */
static int trace_file_remove(const char *path, int fd)
{
    struct stat opened, named;

    if (fstat(fd, &opened) < 0 || lstat(path, &named) < 0)
        return -errno;
    if (trace_file_is_own(&opened)) { /* another session's, which this process has finished */
        close(gv_trace_file_own.fd);
        gv_trace_file_own.fd = -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return -EBUSY;
    if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino)
        return -EBUSY;
    return unlink(path) < 0 ? -errno : 0;
}

/* Decides what to do with the file at `path`. 0: it is this session's; 1: it was removed;
 * -EBUSY: a process that may be about to end has it; -EEXIST: leave it alone. */
static int trace_file_consider(const char *path, const char *session)
{
    struct gv_trace_probe probe = {0};
    struct stat status;
    int fd, error;

    error = trace_file_open_checked(path, &fd);
    if (error == -ENOENT)
        return 1;
    if (fd < 0)
        return -EEXIST;
    if (fstat(fd, &status) < 0 || status.st_uid != geteuid() || status.st_nlink != 1)
        error = -EEXIST;
    else if (!error)
        error = trace_file_read_meta(path, fd, &probe);
    if (error == -EBUSY) /* its owner is at work */
        error = -EEXIST;
    if ((!error && strcmp(probe.session, session) == 0) ||
        (error == -ENODATA && trace_file_is_own(&status))) {
        close(fd);
        return 0;
    }
    if (!error && !probe.complete &&
        gv_trace_file_session_remains(probe.spool_directory, probe.session))
        error = -EEXIST;
    if (!error || error == -ENODATA)
        error = trace_file_remove(path, fd);
    close(fd);
    if (error == -EBUSY)
        return error;
    return error ? -EEXIST : 1;
}

/*
 * A collector whose trace was deleted may be in a transaction, and its journal has the name of
 * ours: the end of its transaction would delete our journal. It begins no other one.
 */
static void trace_file_await_journal(const char *path)
{
    char journal[GV_TRACE_FILE_BESIDE_BYTES];

    gv_trace_file_beside(path, 0, journal);
    for (int pauses = 0; pauses < GV_TRACE_FILE_JOURNAL_PAUSES && access(journal, F_OK) == 0;
         pauses++)
        gv_pause_ns(GV_TRACE_FILE_PAUSE_NS);
}

/*
 * A killed collector looks gone as a zombie while a thread of it still has the lock. One that has
 * finished a trace ends some time later.
 */
static int trace_file_try(const char *path, const char *session)
{
    if (trace_file_check_journals(path))
        return -EEXIST;
    for (int tries = 0, pauses = 0; tries < GV_TRACE_FILE_TRIES; tries++) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0) {
            int error = trace_file_keep(path, fd);
            if (!error) {
                trace_file_await_journal(path);
                return 0;
            }
            close(fd);
            if (error == -EAGAIN)
                continue;
            unlink(path);
            return error;
        }
        if (errno != EEXIST)
            return -errno;
        int verdict = trace_file_consider(path, session);
        if (verdict == -EBUSY && pauses++ < GV_TRACE_FILE_PAUSES) {
            gv_pause_ns(GV_TRACE_FILE_PAUSE_NS);
            tries--;
        } else if (verdict <= 0) {
            return verdict == -EBUSY ? -EEXIST : verdict;
        }
    }
    return -EEXIST;
}

int gv_trace_file_drop(const char *path)
{
    struct gv_trace_probe probe;
    int verdict = -EBUSY;

    if (gv_trace_file_probe(path, &probe) != 0)
        return 0;
    for (int pauses = 0; verdict == -EBUSY && pauses < GV_TRACE_FILE_PAUSES; pauses++) {
        if (pauses > 0)
            gv_pause_ns(GV_TRACE_FILE_PAUSE_NS);
        verdict = trace_file_consider(path, "");
    }
    return verdict == 1 ? 0 : verdict == 0 ? -EEXIST : verdict;
}

/* The directory of a path, without links; and the name in it. */
static int trace_file_split(const char *wanted, char *directory, const char **name)
{
    char parent[GV_SESSION_PATH_BYTES];
    const char *slash = strrchr(wanted, '/');

    *name = slash ? slash + 1 : wanted;
    if (**name == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return -EISDIR;
    if (!slash)
        strcpy(parent, ".");
    else if (slash == wanted)
        strcpy(parent, "/");
    else if ((size_t)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - wanted), wanted) >=
             sizeof(parent))
        return -ENAMETOOLONG;
    return realpath(parent, directory) ? 0 : -errno;
}

/* A trace cannot be a folder, a device or a pipe, and cannot be beside one, also through a link
 * such as /dev/stdout. 0 or -errno. */
static int trace_file_refuse(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0 || S_ISREG(status.st_mode))
        return 0;
    return S_ISDIR(status.st_mode) ? -EISDIR : -ENOTSUP;
}

int gv_trace_file_claim(const char *wanted, const char *session, char *path, size_t size)
{
    char directory[PATH_MAX];
    const char *name;
    int error = trace_file_split(wanted, directory, &name);

    if (error)
        return error;
    error = trace_file_refuse(wanted);
    if (error)
        return error;
    const char *extension = strrchr(name, '.');
    if (!extension || extension == name)
        extension = name + strlen(name);
    for (int number = 1; number <= GV_TRACE_FILE_TRIES; number++) {
        char suffix[16] = "";
        if (number > 1)
            snprintf(suffix, sizeof(suffix), "-%d", number);
        int length =
            snprintf(path, size, "%s/%.*s%s%s", strcmp(directory, "/") == 0 ? "" : directory,
                     (int)(extension - name), name, suffix, extension);
        if (length < 0 || (size_t)length >= size)
            return -ENAMETOOLONG;
        error = trace_file_try(path, session);
        if (error != -EEXIST)
            return error;
    }
    return -EEXIST;
}
