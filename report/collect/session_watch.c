#include "report/collect/session_watch.h"

#include "report/collect/sessions.h"
#include "report/collect/recovery.h"
#include "report/store/trace_file.h"
#include "trace/program_name.h"
#include "trace/session_id.h"
#include "trace/settings.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GV_WATCH_STEP_MS 20
#define GV_WATCH_MOST_MS 10000

void gv_session_watch_start(struct gv_session_watch *watch, const char *session)
{
    memset(watch, 0, sizeof(*watch));
    snprintf(watch->session, sizeof(watch->session), "%s", session);
    uint64_t ticks;
    if (gv_session_id_parse(session, &watch->root, &ticks) < 0)
        watch->root = 0;
    if (!getcwd(watch->root_directory, sizeof(watch->root_directory)))
        watch->root_directory[0] = '\0';
}

static bool session_watch_try(struct gv_session_watch *watch, const char *directory)
{
    int fd = gv_session_place_open(directory, watch->session);

    if (fd < 0)
        return false;
    if (gv_session_place_map(fd, &watch->file) == 0)
        snprintf(watch->directory, sizeof(watch->directory), "%s", directory);
    close(fd);
    return watch->file != NULL;
}

/* The program's name; the last one after its end. */
static void session_watch_note_root(struct gv_session_watch *watch)
{
    char arguments[GV_SPOOL_ARGUMENTS_BYTES];
    size_t bytes = gv_program_read_arguments(watch->root, arguments, sizeof(arguments));
    if (bytes > 0)
        gv_program_name(arguments, bytes, watch->root_program, sizeof(watch->root_program));
}

bool gv_session_watch_look(struct gv_session_watch *watch)
{
    char trace[GV_SESSION_PATH_BYTES], directory[GV_SESSION_PATH_BYTES];
    struct gv_settings settings;
    struct gv_trace_owner owner = {
        .pid = watch->root, .program = watch->root_program, .directory = watch->root_directory};

    if (watch->file)
        return true;
    session_watch_note_root(watch);
    gv_settings_read(&settings, NULL, NULL);
    bool is_known = gv_trace_path_expand(trace, sizeof(trace), settings.trace, &owner) == 0;
    for (int which = 0; which < GV_SESSION_PLACES; which++)
        if (gv_session_place_folder(which, watch->root_directory, is_known ? trace : NULL,
                                    directory, sizeof(directory)) == 0 &&
            session_watch_try(watch, directory))
            return true;
    return false;
}

void gv_session_watch_tell_signal(struct gv_session_watch *watch, int number)
{
    if (watch->file)
        atomic_store(&watch->file->root_signal, (uint32_t)number);
}

/* Whether the file at the session's path is a trace of this session. */
static bool session_watch_has_trace(struct gv_session_watch *watch, char *path, size_t size)
{
    struct gv_trace_probe probe;

    snprintf(path, size, "%.*s", (int)sizeof(watch->file->trace_path) - 1, watch->file->trace_path);
    return gv_trace_file_probe(path, &probe) == 0 && strcmp(probe.session, watch->session) == 0;
}

int gv_session_watch_trace(struct gv_session_watch *watch, char *path, size_t size)
{
    struct gv_recovery recovery;
    int error = -ETIMEDOUT;

    if (!watch->file)
        return -ENODATA;
    for (int waited_ms = 0; waited_ms < GV_WATCH_MOST_MS; waited_ms += GV_WATCH_STEP_MS) {
        if (session_watch_has_trace(watch, path, size))
            return 0;
        error = -atomic_load(&watch->file->trace_error);
        if (error == -GV_SESSION_UNWANTED)
            return error;
        /* If its collector is dead or never started, we store the records. */
        int recovered = gv_recovery_run(watch->directory, watch->session, NULL, &recovery);
        if (recovered == 0 && recovery.path[0]) {
            snprintf(path, size, "%s", recovery.path);
            return 0;
        }
        if (recovered == -ENOENT) /* no session is left, or no folder for its trace */
            return error ? error : -ENODATA;
        if (recovered != -EBUSY && (recovered != 0 || error == -ESTALE))
            return recovered ? recovered : error;
        usleep(GV_WATCH_STEP_MS * 1000);
    }
    return error ? error : -ETIMEDOUT;
}

void gv_session_watch_end(struct gv_session_watch *watch)
{
    gv_session_place_unmap(watch->file);
    watch->file = NULL;
}
