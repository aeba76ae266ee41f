/* Finds the session that a command is to act on. */
#ifndef GV_COMMANDS_CONTROL_H
#define GV_COMMANDS_CONTROL_H

#include "trace/session.h"

#include <limits.h>
#include <stdbool.h>

struct gv_control_target {
    char directory[PATH_MAX]; /* of its files */
    char session[GV_SESSION_ID_BYTES];
    bool is_pid; /* the operand was a process's number */
};

/* By a process's number or a trace. 0; -ENOENT: the process is not recorded, or there is no such
 * trace; -EPERM: another user's; -EPROTO: not a trace; or -errno. */
int gv_control_find(const char *operand, struct gv_control_target *target);

/* Says why a command cannot act on the operand, by an error of the above. */
void gv_control_say(const char *operand, bool is_pid, int error);

#endif
