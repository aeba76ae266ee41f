/*
 * Sums of a piece of a trace: its oldest minutes (report/collect/keep.h), or the newest seconds
 * (report/commands/metrics/follow.h). In a child process: it only reads the trace, in small pieces,
 * so that it never holds up who writes it.
 */
#ifndef GV_COLLECT_KEEP_FOLD_H
#define GV_COLLECT_KEEP_FOLD_H

#include <sqlite3.h>
#include <stdint.h>

/* Rows near an end of the folded minutes that are copied too, and deleted later: what calls there
 * waited for. */
#define GV_KEEP_MARGIN_NS INT64_C(2000000000)

struct gv_keep_piece;

/* What is done with a piece. While it is copied, the connection has the databases main (the piece),
 * trace and result. Parameters of the scripts: those of keep_fold.sql. */
struct gv_keep_sums {
    const char *open_result;
    /* Copies what is beside the calls and operations; NULL: all that began before the end */
    int (*copy)(sqlite3 *piece, const struct gv_keep_piece *what, int64_t end_ns);
    const char *leave_trace; /* detaches it, and makes temp.unnamed: frames without a name */
    const char *sum;
};

/* Times since the session's start. Calls that began in [from_ns, until_ns) are folded, and those
 * that began before but were stored, as row `from_call` or later, after that time was folded. */
struct gv_keep_piece {
    int64_t from_ns, until_ns;
    int64_t from_call, next_call;
    int64_t older_most; /* more sums than these: the oldest are to go; 0: none */
    /* From here on only for `sums`; NULL: the collector's */
    const struct gv_keep_sums *sums;
    int64_t copy_call, copy_op; /* rows before these are not read, except result.older_row */
    int64_t from_op, next_op, from_load, next_load; /* as of calls */
};

/* Fills the file `result`, a database with the tables of keep_fold.sql, or of `sums`. 0 or -errno.
 */
int gv_keep_fold(const char *trace, const char *result, const struct gv_keep_piece *piece);

#endif
