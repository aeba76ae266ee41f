/* Known stalls and findings, which the rules about them leave out: check --accept FILE. */
#ifndef GV_COMMANDS_CHECK_ACCEPT_H
#define GV_COMMANDS_CHECK_ACCEPT_H

#include "report/commands/check/rules.h"

#include <sqlite3.h>

struct gv_check_accept {
    const char *path; /* NULL: none */
    bool update;
    bool is_new; /* there is no such file, and it is to be written */
    bool of_stalls;
    double least_share; /* of a finding that a new file has; above 1: none */
    struct gv_check_known *lines;
    size_t count;
    size_t below; /* lines whose stall is not in the trace, and may be below its threshold */
    int64_t threshold_ns;
    char *all; /* of a new file: its text */
    size_t all_bytes;
};

/* Reads a file: one known stall per line, as "module-load train.py load=120ms", or a finding's key,
 * as "launching optim.py step"; # starts a comment.
 * 0; -EINVAL: *why has the reason and the line; -ENOMEM. */
int gv_check_accept_parse(struct gv_check_accept *accept, const char *text, size_t bytes,
                          char why[GV_CHECK_WHY_BYTES]);

/* Tells a connection which stalls of its trace are accepted, also if none are, and finds those that
 * are gone. After gv_check_prepare(). 0; -errno; or after a message an exit code. */
int gv_check_accept_apply(sqlite3 *trace, struct gv_check_accept *accept);

/* Says on stderr which known stalls are gone, or updates the file. 0, or -errno after a message. */
int gv_check_accept_tell(const struct gv_check_accept *accept);

void gv_check_accept_free(struct gv_check_accept *accept);

#endif
