#include "report/commands/live_view.h"

#include "report/collect/sessions.h"
#include "report/commands/trace_open.h"
#include "report/store/trace_file.h"
#include "trace/futex.h"
#include "trace/session_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int find_session(struct gv_live_view *view, const char *operand)
{
    struct gv_session_file *file = NULL;
    int error = gv_control_find(operand, &view->target);

    if (!error)
        error = gv_session_place_find(view->target.directory, view->target.session, &file);
    if (!error)
        snprintf(view->path, sizeof(view->path), "%.*s", (int)sizeof(file->trace_path) - 1,
                 file->trace_path);
    gv_session_place_unmap(file);
    if (error == -ENOENT && !view->target.is_pid)
        gv_trace_open_say(operand, error);
    else if (error)
        gv_control_say(operand, view->target.is_pid, error);
    return error;
}

int gv_live_view_open(struct gv_live_view *view, const char *operand)
{
    struct gv_trace_probe probe;
    int error;

    view->fd = -1;
    view->changed_ns = (int64_t)gv_monotonic_ns();
    if (!realpath(operand, view->path))
        return find_session(view, operand);
    error = gv_trace_file_probe(view->path, &probe);
    if (error && error != -ENODATA && error != -EBUSY) { /* the collector has just made it */
        gv_trace_open_say(operand, error);
        return error;
    }
    if (error)
        return find_session(view, operand);
    /* Or it is what a dead collector has left. */
    if (probe.complete || gv_session_place_confirm(probe.spool_directory, probe.session) != 0)
        return 1;
    snprintf(view->target.directory, sizeof(view->target.directory), "%.*s", PATH_MAX - 1,
             probe.spool_directory);
    memcpy(view->target.session, probe.session, sizeof(view->target.session));
    return 0;
}

void gv_live_view_close(struct gv_live_view *view)
{
    if (view->fd >= 0)
        close(view->fd);
}

int gv_live_view_read(struct gv_live_view *view)
{
    uint64_t sequence = view->page.sequence;
    /* A session that goes on after its end has another page. */
    int fd = view->fd < 0 || view->page.ended
                 ? gv_live_page_open(view->target.directory, view->target.session, 0)
                 : -ENOENT;

    if (fd >= 0) {
        gv_live_view_close(view);
        view->fd = fd;
    }
    int error = view->fd >= 0 ? gv_live_page_read(view->fd, &view->page) : fd;
    if (!error && view->page.sequence != sequence)
        view->changed_ns = (int64_t)gv_monotonic_ns();
    return error;
}

int64_t gv_live_view_now_ns(const struct gv_live_view *view)
{
    int64_t since_ns = (int64_t)gv_monotonic_ns() - view->page.clock_ns;

    return view->page.now_ns + (since_ns > 0 && !view->page.ended ? since_ns : 0);
}

bool gv_live_view_goes_on(const struct gv_live_view *view, int64_t quiet_ns)
{
    uint32_t pid;
    uint64_t ticks;

    return !view->page.ended && ((gv_session_id_parse(view->target.session, &pid, &ticks) == 0 &&
                                  gv_session_process_life(pid, ticks) == GV_SESSION_ALIVE) ||
                                 (int64_t)gv_monotonic_ns() - view->changed_ns < quiet_ns);
}
