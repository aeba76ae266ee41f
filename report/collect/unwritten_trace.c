#include "report/collect/unwritten_trace.h"

#include "report/collect/session_place.h"
#include "trace/trace_path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file need not exist, but its folder does. */
static int gv_unwritten_trace_resolve(const char *path, char absolute[PATH_MAX])
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

static bool gv_unwritten_trace_is_of(const char *directory, const char *session, const char *path)
{
    struct gv_session_file *file = NULL;
    int fd = gv_session_place_open(directory, session);
    bool same = false;

    if (fd < 0)
        return false;
    if (gv_session_place_map(fd, &file) == 0) {
        same = strncmp(file->trace_path, path, sizeof(file->trace_path)) == 0;
        gv_session_place_unmap(file);
    }
    close(fd);
    return same;
}

static int gv_unwritten_trace_search(const char *directory, const char *path,
                                     char session[GV_SESSION_ID_BYTES])
{
    DIR *stream = opendir(directory);
    struct dirent *entry;
    bool found = false;

    if (!stream)
        return -errno;
    while (!found && (entry = readdir(stream)))
        found = gv_session_place_id(entry->d_name, session) &&
                gv_unwritten_trace_is_of(directory, session, path);
    closedir(stream);
    return found ? 0 : -ENOENT;
}

int gv_unwritten_trace_find(const char *path, char *directory, size_t size,
                            char session[GV_SESSION_ID_BYTES])
{
    char absolute[PATH_MAX];
    int error = gv_unwritten_trace_resolve(path, absolute);

    if (error)
        return error;
    gv_session_place_default(directory, size);
    error = gv_unwritten_trace_search(directory, absolute, session);
    if (!error)
        return 0;
    error = gv_trace_path_beside(directory, size, absolute);
    return error ? error : gv_unwritten_trace_search(directory, absolute, session);
}
