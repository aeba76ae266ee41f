#include "report/collect/sessions.h"

#include "trace/session.h"
#include "trace/session_id.h"
#include "trace/settings.h"
#include "trace/trace_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int gv_session_place_folder(int which, const char *start, const char *trace, char *out, size_t size)
{
    struct gv_settings settings;

    if (which == 0) {
        gv_settings_read(&settings, NULL, NULL);
        return gv_trace_path_shared(out, size, &settings, start);
    }
    return which == 1 && trace ? gv_trace_path_beside(out, size, trace) : -ENOENT;
}

void gv_session_place_default(char *out, size_t size)
{
    char here[GV_SESSION_PATH_BYTES];

    if (gv_session_place_folder(0, getcwd(here, sizeof(here)), NULL, out, size) < 0)
        out[0] = '\0'; /* no session there */
}

bool gv_session_place_id(const char *name, char id[GV_SESSION_ID_BYTES])
{
    size_t length = strcspn(name, ".");
    uint32_t pid;
    uint64_t ticks;

    if (length >= GV_SESSION_ID_BYTES || name[length] != '.')
        return false;
    memcpy(id, name, length);
    id[length] = '\0';
    return gv_session_id_parse(id, &pid, &ticks) == 0;
}

bool gv_session_place_root_lives(const char *session)
{
    uint32_t pid;
    uint64_t ticks;

    return gv_session_id_parse(session, &pid, &ticks) == 0 &&
           gv_session_process_life(pid, ticks) == GV_SESSION_ALIVE;
}

int gv_session_place_map(int fd, struct gv_session_file **file)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size < (off_t)sizeof(struct gv_session_file))
        return -EPROTO;
    void *base =
        mmap(NULL, sizeof(struct gv_session_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    *file = base;
    if (atomic_load_explicit(&(*file)->ready, memory_order_acquire) == 0 ||
        memcmp((*file)->magic, GV_SESSION_MAGIC, sizeof((*file)->magic)) != 0) {
        munmap(base, sizeof(struct gv_session_file));
        *file = NULL;
        return -EPROTO;
    }
    return 0;
}

void gv_session_place_unmap(struct gv_session_file *file)
{
    if (file)
        munmap(file, sizeof(*file));
}

static int session_place_path(char path[GV_SESSION_PATH_BYTES], const char *directory,
                              const char *session)
{
    int length =
        snprintf(path, GV_SESSION_PATH_BYTES, "%s/%s%s", directory, session, GV_SESSION_SUFFIX);

    return length < 0 || (size_t)length >= GV_SESSION_PATH_BYTES ? -ENAMETOOLONG : 0;
}

int gv_session_place_confirm(const char *directory, const char *session)
{
    char path[GV_SESSION_PATH_BYTES];
    struct stat status;
    uint32_t pid;
    uint64_t ticks;

    if (directory[0] != '/' || gv_session_id_parse(session, &pid, &ticks) < 0 ||
        session_place_path(path, directory, session) < 0)
        return -ENOENT;
    if (lstat(path, &status) < 0)
        return errno == EACCES ? -EPERM : -ENOENT;
    if (!S_ISREG(status.st_mode))
        return -ENOENT;
    return status.st_uid == geteuid() ? 0 : -EPERM;
}

int gv_session_place_open(const char *directory, const char *session)
{
    char path[GV_SESSION_PATH_BYTES];
    int error = session_place_path(path, directory, session);

    if (error)
        return error;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int gv_session_place_find(const char *directory, const char *session, struct gv_session_file **file)
{
    int fd = gv_session_place_open(directory, session), error;

    *file = NULL;
    if (fd < 0)
        return fd;
    error = gv_session_place_map(fd, file);
    close(fd);
    return error;
}

int gv_session_place_discard(const char *directory, const char *session)
{
    DIR *stream = opendir(directory);
    size_t length = strlen(session);
    struct dirent *entry;
    int error = 0;

    if (!stream)
        return -errno;
    while ((entry = readdir(stream)))
        if (strncmp(entry->d_name, session, length) == 0 && entry->d_name[length] == '.' &&
            unlinkat(dirfd(stream), entry->d_name, 0) < 0)
            error = -errno;
    closedir(stream);
    return error;
}

/* ---- by its trace ---- */

/* The file need not exist, but its folder must. */
static int resolve_path(const char *path, char absolute[PATH_MAX])
{
    char copy[PATH_MAX], resolved[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = snprintf(copy, sizeof(copy), "%.*s", slash ? (int)(slash - path + 1) : 1,
                          slash ? path : ".");

    if (length < 0 || (size_t)length >= sizeof(copy))
        return -ENAMETOOLONG;
    if (!realpath(copy, resolved))
        return -errno;
    length = snprintf(absolute, PATH_MAX, "%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved,
                      slash ? slash + 1 : path);
    return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static bool wants_trace(const char *directory, const char *session, const char *path)
{
    struct gv_session_file *file;
    bool same = gv_session_place_find(directory, session, &file) == 0 &&
                strncmp(file->trace_path, path, sizeof(file->trace_path)) == 0;

    gv_session_place_unmap(file);
    return same;
}

static int search_folder(const char *directory, const char *path, char session[GV_SESSION_ID_BYTES])
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    bool found = false;

    if (!stream)
        return -errno;
    while (!found && (entry = readdir(stream)))
        found =
            gv_session_place_id(entry->d_name, session) && wants_trace(directory, session, path);
    closedir(stream);
    return found ? 0 : -ENOENT;
}

int gv_unwritten_trace_find(const char *path, char *directory, size_t size,
                            char session[GV_SESSION_ID_BYTES])
{
    char absolute[PATH_MAX], here[GV_SESSION_PATH_BYTES];
    int error = resolve_path(path, absolute);
    bool found = false;

    for (int which = 0; !error && !found && which < GV_SESSION_PLACES; which++)
        found = gv_session_place_folder(which, getcwd(here, sizeof(here)), absolute, directory,
                                        size) == 0 &&
                search_folder(directory, absolute, session) == 0;
    return error || found ? error : -ENOENT;
}
