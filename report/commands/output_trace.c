#include "report/commands/output_trace.h"

#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/trace_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the file may be replaced: one of ours to which nothing is added, or an empty one. */
static bool may_replace(const char *path)
{
    struct gv_trace_probe probe;
    struct stat status;

    if (lstat(path, &status) < 0)
        return errno == ENOENT;
    int error = S_ISREG(status.st_mode) && status.st_uid == geteuid()
                    ? gv_trace_file_probe(path, &probe)
                    : -EEXIST;
    return error == -ENODATA || (error == 0 && probe.complete);
}

int gv_output_trace_open(struct gv_output_file *output, const char *path)
{
    if (!may_replace(path)) {
        gv_message("%s exists, and is not a finished trace of yours: it is left alone",
                   gv_shown_path(path));
        return -EEXIST;
    }
    int error = gv_output_file_open(output, path, 0600);
    if (!error && fchmod(fileno(output->out), 0600) < 0) {
        error = -errno;
        gv_output_file_drop(output);
    }
    if (error)
        gv_message("cannot write %s: %s", gv_shown_path(path), strerror(-error));
    return error;
}
