/*
 * Sums of a trace's oldest minutes (report/collect/keep.h). In a child process: it only reads the
 * trace, in small pieces, so that it never holds up who writes it.
 */
#ifndef GV_COLLECT_KEEP_FOLD_H
#define GV_COLLECT_KEEP_FOLD_H

#include <stdint.h>

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
