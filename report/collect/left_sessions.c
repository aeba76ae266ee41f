#include "report/collect/left_sessions.h"

#include "report/collect/sessions.h"
#include "trace/session_id.h"
#include "trace/spool_reader.h"
#include "trace/trace_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* While it is looked at: a process that joins tries twice. *fd is negative without a session file.
 */
static int lock_session(const char *directory, const char *session, int *fd)
{
    *fd = gv_session_place_open(directory, session);
    if (*fd == -ENOENT)
        return 0;
    if (*fd < 0)
        return *fd;
    return flock(*fd, LOCK_EX | LOCK_NB) < 0 ? -EBUSY : 0;
}

static bool spool_lives(int directory_fd, const char *name)
{
    struct gv_spool_reader reader;
    bool lives;

    if (gv_spool_reader_peek(&reader, directory_fd, name) != 0)
        return false;
    lives = gv_spool_reader_process_lives(&reader);
    gv_spool_reader_close(&reader);
    return lives;
}

/* Adds the size of a session's files. -EBUSY: one of its processes lives. */
static int measure(const char *directory, const char *session, int64_t *bytes)
{
    DIR *stream = opendir(directory);
    size_t length = strlen(session);
    struct dirent *entry;
    struct stat status;
    int error = 0;

    if (!stream)
        return -errno;
    while (!error && (entry = readdir(stream))) {
        if (strncmp(entry->d_name, session, length) != 0 || entry->d_name[length] != '.')
            continue;
        if (spool_lives(dirfd(stream), entry->d_name))
            error = -EBUSY;
        else if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            *bytes += (int64_t)status.st_blocks * 512;
    }
    closedir(stream);
    return error;
}

static int look(const char *directory, const char *session, bool discard,
                struct gv_left_sessions *left)
{
    int64_t bytes = 0;
    int fd = -1;
    int error =
        gv_session_place_root_lives(session) ? -EBUSY : lock_session(directory, session, &fd);

    if (!error)
        error = measure(directory, session, &bytes);
    if (!error && discard)
        error = gv_session_place_discard(directory, session);
    if (!error && discard)
        gv_trace_path_leave(directory);
    if (fd >= 0)
        close(fd);
    if (!error) {
        left->count++;
        left->bytes += bytes;
    }
    return error;
}

int gv_left_session_discard(const char *directory, const char *session,
                            struct gv_left_sessions *left)
{
    return look(directory, session, true, left);
}

int gv_left_sessions_find(const char *directory, struct gv_left_sessions *left)
{
    DIR *stream = opendir(directory);
    char session[GV_SESSION_ID_BYTES];
    struct dirent *entry;

    memset(left, 0, sizeof(*left));
    if (!stream)
        return -errno;
    while ((entry = readdir(stream)))
        if (gv_session_place_id(entry->d_name, session) &&
            strcmp(entry->d_name + strlen(session), GV_SESSION_SUFFIX) == 0)
            look(directory, session, false, left); /* others' and living ones do not count */
    closedir(stream);
    return 0;
}
