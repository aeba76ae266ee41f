#include "trace/trace_path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GV_TRACE_DEFAULT "gpuverify-%n-%p.db"
#define GV_TRACE_BESIDE  "/.gpuverify-"

/* A path that the Linux kernel calls "(unreachable)" is unusable. */
static bool trace_path_is_known(const char *directory)
{
    return directory && *directory == '/';
}

int gv_trace_path_format(char *path, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(path, size, format, arguments);
    va_end(arguments);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

struct gv_expansion {
    char *out;
    size_t left;
};

static int expansion_add(struct gv_expansion *to, const char *text)
{
    size_t length = strlen(text);

    if (length >= to->left)
        return -ENAMETOOLONG;
    memcpy(to->out, text, length + 1);
    to->out += length;
    to->left -= length;
    return 0;
}

static int expansion_add_one(struct gv_expansion *to, char what, const struct gv_trace_owner *owner)
{
    char text[256] = {'%', what, 0};
    bool known = true;

    if (what == 'p')
        snprintf(text, sizeof(text), "%u", owner->pid);
    else if (what == 'n')
        snprintf(text, sizeof(text), "%s", owner->program);
    else if (what == 'h' && gethostname(text, sizeof(text) - 1) < 0)
        snprintf(text, sizeof(text), "localhost");
    else if (what == '%')
        text[1] = 0;
    else
        known = what == 'h';
    for (char *slash = text; known && (slash = strchr(slash, '/')); slash++)
        *slash = '_'; /* a name of a host or program must not select another directory */
    return expansion_add(to, text);
}

int gv_trace_path_expand(char *path, size_t size, const char *pattern,
                         const struct gv_trace_owner *owner)
{
    struct gv_expansion to = {path, size};
    int error = 0;

    *path = 0;
    if (!*pattern)
        pattern = GV_TRACE_DEFAULT;
    if (*pattern != '/') {
        if (!trace_path_is_known(owner->directory))
            return -ENOENT;
        error = expansion_add(&to, owner->directory);
        if (!error && owner->directory[1]) /* not the root folder */
            error = expansion_add(&to, "/");
    }
    for (const char *c = pattern; *c && !error; c++) {
        char plain[2] = {*c, 0};

        if (*c == '%' && c[1])
            error = expansion_add_one(&to, *++c, owner);
        else
            error = expansion_add(&to, plain);
    }
    if (error)
        *path = 0;
    return error;
}

int gv_trace_path_absolute(char *path, size_t size, const char *directory, const char *relative,
                           bool is_pattern)
{
    size_t used = 0;

    if (!trace_path_is_known(directory))
        return -ENOENT;
    for (const char *c = directory; *c; c++) {
        if (used + 3 > size)
            return -ENAMETOOLONG;
        if (is_pattern && *c == '%')
            path[used++] = '%';
        path[used++] = *c;
    }
    return gv_trace_path_format(path + used, size - used, "%s%s", directory[1] ? "/" : "",
                                relative);
}

int gv_trace_path_shared(char *path, size_t size, const struct gv_settings *settings,
                         const char *directory)
{
    if (!settings->spool_dir[0])
        return gv_trace_path_format(path, size, "/dev/shm/gpuverify-%u", (unsigned int)geteuid());
    if (settings->spool_dir[0] == '/')
        return gv_trace_path_format(path, size, "%s", settings->spool_dir);
    return trace_path_is_known(directory)
               ? gv_trace_path_format(path, size, "%s/%s", directory, settings->spool_dir)
               : -ENOENT;
}

int gv_trace_path_beside(char *path, size_t size, const char *trace)
{
    const char *slash = strrchr(trace, '/');

    return slash ? gv_trace_path_format(path, size, "%.*s" GV_TRACE_BESIDE "%u",
                                        (int)(slash - trace), trace, (unsigned int)geteuid())
                 : -EINVAL;
}

void gv_trace_path_leave(const char *directory)
{
    const char *slash = strrchr(directory, '/');
    int saved = errno;

    if (slash && strncmp(slash, GV_TRACE_BESIDE, strlen(GV_TRACE_BESIDE)) == 0)
        rmdir(directory);
    errno = saved;
}
