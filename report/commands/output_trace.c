#include "report/commands/output_trace.h"

#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/trace_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether another file of that name left something behind, which SQLite would take for a part of
 * this one. */
static bool is_left_behind(const char *path, char beside[GV_TRACE_FILE_BESIDE_BYTES])
{
    struct stat status;

    for (size_t i = 0; gv_trace_file_beside(path, i, beside); i++)
        if (lstat(beside, &status) == 0)
            return true;
    return false;
}

/* Whether the file may be replaced: one of ours to which nothing is added, or an empty one, which
 * a trace is, too, until its collector has committed something. */
static bool may_replace(const char *path)
{
    char beside[GV_TRACE_FILE_BESIDE_BYTES];
    struct gv_trace_probe probe;
    struct stat status;

    if (lstat(path, &status) < 0)
        return true; /* if it cannot be made either, that says why */
    int error = S_ISREG(status.st_mode) && status.st_uid == geteuid()
                    ? gv_trace_file_probe(path, &probe)
                    : -EEXIST;
    if (error == -ENODATA)
        return !is_left_behind(path, beside) && !gv_trace_file_is_being_written(path);
    return error == 0 && probe.complete;
}

static int refuse_other(const char *path)
{
    if (may_replace(path))
        return 0;
    gv_message("%s exists, and is not a finished trace of yours: it is left alone",
               gv_shown_path(path));
    return -EEXIST;
}

int gv_output_trace_open(struct gv_output_file *output, const char *path)
{
    char beside[GV_TRACE_FILE_BESIDE_BYTES];

    int error = refuse_other(path);
    if (error)
        return error;
    if (is_left_behind(path, beside)) {
        gv_message("%s belongs to another file, and would damage the new one: move it away",
                   gv_shown_path(beside));
        return -EEXIST;
    }
    error = gv_output_file_open(output, path, 0600);
    if (!error && fchmod(fileno(output->out), 0600) < 0) {
        error = -errno;
        gv_output_file_drop(output);
    }
    if (error)
        gv_message("cannot write %s: %s", gv_shown_path(path), strerror(-error));
    return error;
}

int gv_output_trace_close(struct gv_output_file *output)
{
    int error = refuse_other(output->path);

    if (error) {
        gv_output_file_drop(output);
        return error;
    }
    error = gv_output_file_close(output);
    if (error)
        gv_message("cannot write %s: %s", gv_shown_path(output->path), strerror(-error));
    return error;
}
