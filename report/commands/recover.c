/* gpuverify recover: stores records that no collector stored. */
#include "report/commands/commands.h"

#include "report/collect/left_sessions.h"
#include "report/collect/recovery.h"
#include "report/collect/sessions.h"
#include "report/commands/trace_open.h"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/store/array.h"
#include "report/store/trace_file.h"
#include "trace/trace_path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A session to recover. */
struct gv_recover_job {
    char *directory;
    char *trace; /* the trace that named it; NULL: none */
    char session[GV_SESSION_ID_BYTES];
};

struct gv_recover {
    const char *wanted; /* -o */
    struct gv_recover_job *jobs;
    size_t count, room;
    unsigned int recovered;
    bool discards;
    struct gv_left_sessions discarded;
    bool failed;
};

static void recover_free(struct gv_recover *recover)
{
    for (size_t i = 0; i < recover->count; i++) {
        free(recover->jobs[i].directory);
        free(recover->jobs[i].trace);
    }
    free(recover->jobs);
}

/* `trace` may be NULL. 0 or -ENOMEM. */
static int recover_add(struct gv_recover *recover, const char *directory, const char *session,
                       const char *trace)
{
    struct gv_recover_job *job;

    for (size_t i = 0; i < recover->count; i++)
        if (strcmp(recover->jobs[i].session, session) == 0 &&
            strcmp(recover->jobs[i].directory, directory) == 0)
            return 0;
    if (gv_array_room(&recover->jobs, recover->count, &recover->room, sizeof(*job)))
        return -ENOMEM;
    job = &recover->jobs[recover->count++];
    strcpy(job->session, session);
    job->directory = strdup(directory);
    job->trace = trace ? strdup(trace) : NULL;
    return job->directory && (job->trace || !trace) ? 0 : -ENOMEM;
}

static void recover_session(struct gv_recover *recover, const struct gv_recover_job *job)
{
    struct gv_recovery *recovery = calloc(1, sizeof(*recovery));
    const char *wanted = recover->wanted ? recover->wanted : job->trace;
    int error =
        recovery ? gv_recovery_run(job->directory, job->session, wanted, recovery) : -ENOMEM;

    if (error == -EBUSY || error == -EXDEV)
        gv_message("%s: its collector is still writing it", job->session);
    else if (error && recovery && recovery->path[0] && error != -EPROTO)
        gv_message("%s: cannot write %s: %s%s", job->session, recovery->path, strerror(-error),
                   recover->wanted ? "" : " (-o names another file)");
    else if (error == -ENOENT)
        gv_message("%s: its records were in %s, which is not here", job->session, job->directory);
    else if (error == -EPERM)
        gv_message("%s: belongs to another user", job->session);
    else if (error)
        gv_message("%s: cannot recover it: %s", job->session, strerror(-error));
    recover->failed |= error && error != -EBUSY && error != -EXDEV;
    if (!error && recovery->path[0]) {
        recover->recovered++;
        gv_message_result("%s: %zu records", recovery->path, recovery->records);
        if (recovery->spools_left > 0)
            gv_message("%s: %zu of its processes still run", job->session, recovery->spools_left);
    }
    if (!error && recovery->damaged > 0) {
        gv_message(
            "%s: %zu of its spools in %s are cut or damaged and cannot be read; remove them by "
            "hand",
            job->session, recovery->damaged, job->directory);
        recover->failed = true;
    }
    free(recovery);
}

/* Without storing it. */
static void recover_discard(struct gv_recover *recover, const struct gv_recover_job *job)
{
    int error = gv_left_session_discard(job->directory, job->session, &recover->discarded);

    if (error == -EBUSY) {
        gv_message("%s: it is not over", job->session);
    } else if (error) {
        gv_message("%s: cannot remove its files: %s", job->session, strerror(-error));
        recover->failed = true;
    }
}

static int recover_compare(const void *left, const void *right)
{
    const struct gv_recover_job *one = left, *other = right;

    return strcmp(one->session, other->session);
}

/* Adds all sessions with a file in a directory. */
static int recover_directory(struct gv_recover *recover, const char *directory)
{
    DIR *stream = opendir(directory);
    size_t first = recover->count;
    struct dirent *entry;
    int error = 0;

    if (!stream)
        return -errno;
    while (!error && (entry = readdir(stream))) {
        char session[GV_SESSION_ID_BYTES];
        if (gv_session_place_id(entry->d_name, session))
            error = recover_add(recover, directory, session, NULL);
    }
    closedir(stream);
    if (recover->count == first) /* its process was killed before it made a file in it */
        gv_trace_path_leave(directory);
    else
        qsort(recover->jobs + first, recover->count - first, sizeof(*recover->jobs),
              recover_compare);
    return error;
}

static int recover_trace(struct gv_recover *recover, const char *path)
{
    struct gv_trace_probe probe;
    int error = gv_trace_file_probe(path, &probe);

    if (error)
        return error;
    error = gv_session_place_confirm(probe.spool_directory, probe.session);
    if (error)
        return error == -ENOENT ? 0 : error;
    return recover_add(recover, probe.spool_directory, probe.session, path);
}

static int recover_path(struct gv_recover *recover, const char *given)
{
    char path[PATH_MAX], session[GV_SESSION_ID_BYTES];
    struct gv_trace_probe probe;
    struct stat status;
    int error = gv_trace_file_probe(given, &probe);

    if ((error == -ENOENT || error == -ENODATA) &&
        gv_unwritten_trace_find(given, path, sizeof(path), session) == 0)
        return recover_add(recover, path, session, NULL);
    if (!realpath(given, path) || stat(path, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return recover_directory(recover, path);
    char *slash = strrchr(path, '/');
    if ((gv_format_ends_in(path, GV_SESSION_SUFFIX) || gv_format_ends_in(path, GV_SPOOL_SUFFIX)) &&
        slash != path && gv_session_place_id(slash + 1, session)) {
        *slash = '\0';
        return recover_add(recover, path, session, NULL);
    }
    return recover_trace(recover, path);
}

static void recover_given(struct gv_recover *recover, const char *given)
{
    int error = recover_path(recover, given);

    if (error == -EPROTO || error == -ENODATA)
        gv_message("%s is not a gpuverify trace or spool", given);
    else if (error)
        gv_trace_open_say(given, error);
    recover->failed |= error != 0;
}

/* Stores nothing until it is clear that -o can name the trace for everything. */
static int recover_all(struct gv_recover *recover)
{
    char size[GV_FORMAT_BYTES];

    if (recover->wanted && recover->count > 1) {
        gv_message("-o names one file, but there are %zu sessions; name one of them",
                   recover->count);
        return GV_EXIT_USAGE;
    }
    if (recover->wanted && recover->discards) {
        gv_message("-o names a trace, but --discard writes none");
        return GV_EXIT_USAGE;
    }
    for (size_t i = 0; i < recover->count; i++)
        (recover->discards ? recover_discard : recover_session)(recover, &recover->jobs[i]);
    if (recover->discards)
        gv_message_result("sessions discarded: %zu, %s", recover->discarded.count,
                          gv_format_size(size, recover->discarded.bytes));
    if (recover->failed)
        return GV_EXIT_FAILED;
    if (recover->recovered == 0 && !recover->discards)
        gv_message("nothing to recover");
    return GV_EXIT_FINE;
}

/* The shared place, and the one beside the traces of this folder. */
static void recover_usual(struct gv_recover *recover)
{
    char here[GV_SESSION_PATH_BYTES], trace[PATH_MAX], directory[PATH_MAX];
    bool is_known = getcwd(here, sizeof(here)) &&
                    gv_trace_path_absolute(trace, sizeof(trace), here, "trace.db", false) == 0;

    for (int which = 0; which < GV_SESSION_PLACES; which++) {
        int error = gv_session_place_folder(which, is_known ? here : NULL, is_known ? trace : NULL,
                                            directory, sizeof(directory));
        if (!error)
            error = recover_directory(recover, directory);
        if (error && error != -ENOENT) {
            gv_message("cannot read %s: %s", directory, strerror(-error));
            recover->failed = true;
        }
    }
}

int gv_command_recover(const struct gv_arguments *arguments)
{
    struct gv_recover recover = {0};
    int code;

    /* A trace that reaches a limit of file sizes gets a message, not this signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    recover.discards = gv_arguments_has(arguments, GV_OPTION_recover_discard);
    recover.wanted = gv_arguments_text(arguments, GV_OPTION_recover_output, NULL);
    if (arguments->operand_count == 0)
        recover_usual(&recover);
    for (int i = 0; i < arguments->operand_count; i++)
        recover_given(&recover, arguments->operands[i]);
    code = recover_all(&recover);
    recover_free(&recover);
    return code;
}
