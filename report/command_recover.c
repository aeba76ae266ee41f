/* gpuverify recover: records that no collector took. */
#include "report/commands.h"

#include "report/recovery.h"
#include "report/session_place.h"
#include "report/unwritten_trace.h"
#include "trace/trace_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct gv_recover {
    const char *wanted; /* -o */
    unsigned int sessions;
    unsigned int recovered;
    bool failed;
    bool again; /* a second session wants the one file of -o */
};

static void gv_recover_session(struct gv_recover *recover, const char *directory,
                               const char *session, const char *trace)
{
    struct gv_recovery *recovery = calloc(1, sizeof(*recovery));
    int error;

    recover->sessions++;
    if (recover->wanted && recover->sessions > 1) {
        recover->again = true;
        free(recovery);
        return;
    }
    error = recovery ? gv_recovery_run(directory, session,
                                       recover->wanted ? recover->wanted : trace, recovery)
                     : -ENOMEM;
    if (error == -EBUSY) {
        gv_message("%s: its collector is at work, left to it", session);
    } else if (error && recovery && recovery->path[0] && error != -EPROTO) {
        gv_message("%s: cannot write %s: %s%s", session, recovery->path, strerror(-error),
                   recover->wanted ? "" : " (-o names another file)");
        recover->failed = true;
    } else if (error) {
        gv_message("%s: cannot be recovered: %s", session, strerror(-error));
        recover->failed = true;
    } else if (recovery->path[0]) {
        recover->recovered++;
        printf("%s: %zu records\n", recovery->path, recovery->records);
        if (recovery->spools_left > 0)
            gv_message("%s: %zu of its processes still run", session, recovery->spools_left);
    }
    free(recovery);
}

static int gv_recover_compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* All sessions that have a file in a directory. */
static int gv_recover_directory(struct gv_recover *recover, const char *directory)
{
    char(*sessions)[GV_SESSION_ID_BYTES] = NULL;
    size_t count = 0;
    DIR *stream = opendir(directory);
    struct dirent *entry;

    if (!stream)
        return -errno;
    while ((entry = readdir(stream))) {
        char session[GV_SESSION_ID_BYTES];
        if (!gv_session_place_id(entry->d_name, session))
            continue;
        void *larger = realloc(sessions, (count + 1) * sizeof(*sessions));
        if (!larger)
            break;
        sessions = larger;
        strcpy(sessions[count++], session);
    }
    closedir(stream);
    if (count > 0)
        qsort(sessions, count, sizeof(*sessions), gv_recover_compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(sessions[i], sessions[i - 1]) != 0)
            gv_recover_session(recover, directory, sessions[i], NULL);
    free(sessions);
    return 0;
}

static bool gv_recover_ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), wanted = strlen(suffix);

    return length > wanted && strcmp(name + length - wanted, suffix) == 0;
}

static int gv_recover_trace(struct gv_recover *recover, const char *path)
{
    struct gv_trace_probe probe;
    int error = gv_trace_file_probe(path, &probe);

    if (error)
        return error;
    if (!gv_trace_file_session_remains(probe.spool_directory, probe.session) && probe.complete)
        return 0;
    gv_recover_session(recover, probe.spool_directory, probe.session, path);
    return 0;
}

static int gv_recover_path(struct gv_recover *recover, const char *given)
{
    char path[PATH_MAX], session[GV_SESSION_ID_BYTES];
    struct stat status;

    if (access(given, F_OK) < 0 && errno == ENOENT &&
        gv_unwritten_trace_find(given, path, sizeof(path), session) == 0) {
        gv_recover_session(recover, path, session, NULL);
        return 0;
    }
    if (!realpath(given, path) || stat(path, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return gv_recover_directory(recover, path);
    char *slash = strrchr(path, '/');
    if ((gv_recover_ends_in(path, GV_SESSION_SUFFIX) ||
         gv_recover_ends_in(path, GV_SPOOL_SUFFIX)) &&
        slash != path && gv_session_place_id(slash + 1, session)) {
        *slash = '\0';
        gv_recover_session(recover, path, session, NULL);
        return 0;
    }
    return gv_recover_trace(recover, path);
}

static void gv_recover_given(struct gv_recover *recover, const char *given)
{
    int error = gv_recover_path(recover, given);

    if (error == -EPROTO || error == -ENODATA)
        gv_message("%s is neither a trace nor a spool of gpuverify", given);
    else if (error)
        gv_message("cannot read %s: %s", given, strerror(-error));
    recover->failed |= error != 0;
}

static int gv_recover_code(const struct gv_recover *recover)
{
    if (recover->again) {
        gv_message("-o names one file, but there are %u sessions", recover->sessions);
        return GV_EXIT_USAGE;
    }
    if (recover->failed)
        return GV_EXIT_FAILED;
    if (recover->recovered == 0) {
        gv_message("there is nothing to recover");
        return GV_EXIT_FINE;
    }
    return GV_EXIT_FINE;
}

int gv_command_recover(const struct gv_arguments *arguments)
{
    struct gv_recover recover = {0};
    char directory[PATH_MAX];

    recover.wanted = gv_arguments_text(arguments, GV_OPTION_recover_output, NULL);
    if (arguments->operand_count == 0) {
        gv_session_place_default(directory, sizeof(directory));
        int error = gv_recover_directory(&recover, directory);
        if (error && error != -ENOENT) {
            gv_message("cannot read %s: %s", directory, strerror(-error));
            recover.failed = true;
        }
    }
    for (int i = 0; i < arguments->operand_count; i++)
        gv_recover_given(&recover, arguments->operands[i]);
    return gv_recover_code(&recover);
}
