/*
 * GPUVERIFY_KEEP: keeps the newest part of a trace in full. Of older time, it keeps sums by minute,
 * the longest stalls, and what the analysis of later calls needs.
 *
 * A child process copies the oldest minutes into a database of its own, analyses them as a whole
 * trace is analysed, and hands over the sums (report/collect/keep_fold.c). The collector goes on
 * draining. Then it stores the sums, and meta's "full_from_ns", in one transaction: from then on
 * the minutes' rows count for nothing. It deletes them in small steps. Whoever resumes a killed
 * collector deletes the rest.
 */
#ifndef GV_COLLECT_KEEP_H
#define GV_COLLECT_KEEP_H

#include "report/store/database.h"
#include "trace/session.h"
#include "trace/settings.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* After the session's name: a file in the session's folder, while a result is stored. */
#define GV_KEEP_SUFFIX ".keep"

enum gv_keep_state {
    GV_KEEP_UNKNOWN, /* the trace may have rows that a killed collector did not delete */
    GV_KEEP_WAITS,
    GV_KEEP_FOLDS,
    GV_KEEP_STORES,
    GV_KEEP_SWEEPS,
};

struct gv_keep {
    enum gv_keep_state state;
    struct gv_setting_extent extent; /* as wanted; nothing: all */
    char result[GV_SESSION_PATH_BYTES];
    pid_t child; /* while it folds */
    int64_t full_from_ns,
        until_ns;       /* the trace is in full from the first; the child folds until the second */
    int64_t next_call;  /* before the child began */
    int64_t swept[2];   /* calls and operations up to this row */
    int64_t checked_ns; /* by the monotonic clock */
    bool failed;        /* said once */
};

/* Reads the setting. `directory`, `session`: of the session; the result is there for a while. */
void gv_keep_open(struct gv_keep *keep, const char *directory, const char *session);

/* Between two transactions of the trace, often: does what is due, and a part of the deleting.
 * `now_ns`: since the session's start. 0 or -errno; then the trace is to be opened again. A child
 * that failed is no error: the trace grows, and a message says so. */
int gv_keep_look(struct gv_keep *keep, struct gv_database *trace, int64_t next_call,
                 int64_t now_ns);

/* Before the trace is finished: gives up what the child does, and deletes the rest. 0 or -errno. */
int gv_keep_finish(struct gv_keep *keep, struct gv_database *trace);

/* Before the trace is closed, or opened again: ends the child, and forgets what is in the trace. */
void gv_keep_stop(struct gv_keep *keep);

/* ---- report/collect/keep_fold.c, in the child: it only reads the trace, in small pieces, so that
 * it never holds up who writes it ---- */

/* Rows near an end of the folded minutes that are copied too, and deleted later: what calls there
 * waited for. */
#define GV_KEEP_MARGIN_NS INT64_C(2000000000)

/* Times since the session's start. Calls that began in [from_ns, until_ns) are folded, and those
 * that began before but were stored, as row `from_call` or later, after that time was folded. */
struct gv_keep_piece {
    int64_t from_ns, until_ns;
    int64_t from_call, next_call;
    int64_t older_most; /* more sums than these: the oldest are to go; 0: none */
};

/* Fills the file `result`, a database with the tables of keep_fold.sql. 0 or -errno. */
int gv_keep_fold(const char *trace, const char *result, const struct gv_keep_piece *piece);

#endif
