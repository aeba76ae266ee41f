/*
 * What happened when, by the sums of the view "minutes": for the report's sections "minutes" and
 * "changes". It makes two temporary tables, whose columns minutes.sql describes: minute_bucket has
 * a row for each minute, hour or day; minute_change one for each device, reason, cause or kernel
 * that began, ended or changed, with the minute in which it did.
 */
#ifndef GV_ANALYSE_MINUTES_MINUTES_H
#define GV_ANALYSE_MINUTES_MINUTES_H

#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdbool.h>

struct gv_minutes_older {
    int64_t minutes; /* of which only sums are kept, from the first one to the last one */
    int64_t from_ns, to_ns;
};

/* Those between two times. 0 or -errno. */
int gv_minutes_older_read(sqlite3 *trace, int64_t from_ns, int64_t to_ns,
                          struct gv_minutes_older *older);

/* Stores the sums of the rest of a trace that has older minutes, for the view, when the trace is
 * finished: after its stalls and idle times are found, in a transaction of its own. 0 or -errno
 * with the sums unchanged. */
int gv_minutes_keep(sqlite3 *trace);

/* Whether sums tell something of a part: they are not by thread, device or range. */
bool gv_minutes_have(const struct gv_totals_part *part);

/* Makes the tables; empty ones, unless `wanted`. rows: at most so many in minute_bucket; -1: one
 * for each minute. 0 or -errno. */
int gv_minutes_make(sqlite3 *trace, const struct gv_totals_part *part, int64_t rows, bool wanted);

#endif
