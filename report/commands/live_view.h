/* What a session that runs says of itself (report/collect/live_page.h), for the commands. */
#ifndef GV_COMMANDS_LIVE_VIEW_H
#define GV_COMMANDS_LIVE_VIEW_H

#include "report/collect/live_page.h"
#include "report/commands/control.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_live_view {
    struct gv_control_target target;
    char path[PATH_MAX]; /* of the trace */
    int fd;              /* of the page; -1: there is none yet */
    struct gv_live_page page;
    int64_t changed_ns; /* when another page was last seen, of CLOCK_MONOTONIC */
};

/* By a trace or a process's number. 0: a session; 1: a trace to which nothing is added any more; or
 * -errno after a message. Close it in any case. */
int gv_live_view_open(struct gv_live_view *view, const char *operand);
void gv_live_view_close(struct gv_live_view *view);

/* Reads the page. 0; -ENOENT: there is none yet; or as gv_live_page_read(). */
int gv_live_view_read(struct gv_live_view *view);

/* Since the session's start, by the page. */
int64_t gv_live_view_now_ns(const struct gv_live_view *view);

/* Whether more may come: the session's first process lives, or its page has changed in this time.
 * In another container its processes cannot be seen, but the page can. */
bool gv_live_view_goes_on(const struct gv_live_view *view, int64_t quiet_ns);

#endif
