#include "preload/process/warnings.h"

#include "preload/base/log.h"
#include "trace/old_names.h"
#include "trace/run_note.h"
#include "trace/shell_word.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_ARE "records are in shared memory until this machine or container ends: "

static bool is_first(const struct gv_process *process, uint32_t what)
{
    return !process->session || !(atomic_fetch_or(&process->session->told, what) & what);
}

static void tell_of_trace(const struct gv_process *process, int error)
{
    char word[GV_SHELL_WORD_BYTES];

    if (is_first(process, GV_SESSION_TOLD_TRACE))
        gv_log_error(
            "cannot write the trace %s: %s; name another with GPUVERIFY_TRACE. The " RECORDS_ARE
            "gpuverify recover -o FILE %s",
            process->session->trace_path,
            error == ESTALE ? "it was moved or emptied" : strerror(error),
            gv_shell_word(word, process->session_path));
}

void gv_warn_of_refusal(const struct gv_process *process, int error)
{
    if (!process->session_id[0])
        gv_log_error("cannot record: /proc is not mounted; mount -t proc proc /proc");
    else if (error == -ENOMEM)
        gv_log_error("cannot record: no memory for the records; GPUVERIFY_SPOOL_MB=4 needs less");
    else if (error == -EMFILE || error == -ENFILE)
        gv_log_error("cannot record: %s: two descriptors are needed (ulimit -n)", strerror(-error));
    else if (process->session_path[0])
        gv_log_error(
            "cannot record: no folder for the records: %s: %s; GPUVERIFY_TRACE names a file "
            "in a folder that can be written",
            process->session_path, strerror(-error));
    else
        gv_log_error("cannot record: %s", strerror(-error));
}

static void tell_refused(const char *name, const char *value, const char *why, void *context)
{
    (void)context;
    gv_log_error("%s=%s is ignored: %s", name, value, why);
}

static void tell_unknown(const char *name, const char *nearest, void *context)
{
    const char *now = gv_old_name_now("variable", name);

    (void)context;
    if (now)
        gv_log_error("unknown variable %s; %s", name, now);
    else if (nearest)
        gv_log_error("unknown variable %s; did you mean %s?", name, nearest);
    else
        gv_log_error("unknown variable %s; gpuverify help environment lists all", name);
}

void gv_warn_of_settings(const struct gv_process *process)
{
    static struct gv_settings settings; /* by the one attaching thread */

    if (process->settings.log < GV_LOG_ERROR || !is_first(process, GV_SESSION_TOLD_SETTINGS))
        return;
    gv_settings_read(&settings, tell_refused, NULL);
    gv_settings_find_unknown(tell_unknown, NULL);
}

void gv_warn_of_folder(const struct gv_process *process)
{
    static char folder[GV_SESSION_PATH_BYTES]; /* by the one attaching thread */
    const char *trace = process->session->trace_path, *slash = strrchr(trace, '/');
    int saved_errno = errno;

    /* The trace's path is absolute; the root folder keeps its slash. */
    snprintf(folder, sizeof folder, "%.*s", slash > trace ? (int)(slash - trace) : 1, trace);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
        tell_of_trace(process, errno);
    errno = saved_errno;
}

void gv_warn_of_trace(const struct gv_process *process)
{
    int error = atomic_load(&process->session->trace_error);

    if (error && error != GV_SESSION_UNWANTED)
        tell_of_trace(process, error);
}

void gv_warn_of_collector(const struct gv_process *process)
{
    int saved_errno = errno;
    char word[GV_SHELL_WORD_BYTES];
    bool is_ours = strcmp(process->settings.collector, "off") != 0 && !getenv(GV_RUN_NOTE) &&
                   !atomic_load(&process->session->trace_error) &&
                   access(process->session_path, F_OK) == 0;

    if (is_ours && is_first(process, GV_SESSION_TOLD_COLLECTOR))
        gv_log_error("the collector ended too early; the " RECORDS_ARE "gpuverify recover %s",
                     gv_shell_word(word, process->session_path));
    errno = saved_errno;
}

void gv_warn_of_no_collector(const struct gv_process *process, int error)
{
    char word[GV_SHELL_WORD_BYTES];

    if (is_first(process, GV_SESSION_TOLD_COLLECTOR))
        gv_log_error("the collector did not start (%s); the " RECORDS_ARE "gpuverify recover %s",
                     strerror(-error), gv_shell_word(word, process->session_path));
}
