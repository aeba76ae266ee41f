/*
 * What the GPU had not finished when last heard of: launches of which no end is known.
 */
#ifndef GV_ANALYSE_STALLS_FLIGHT_WORK_H
#define GV_ANALYSE_STALLS_FLIGHT_WORK_H

#include <sqlite3.h>
#include <stdint.h>

struct gv_flight_work {
    int64_t unfinished; /* launches */
    int64_t start_ns;   /* of the first */
    int64_t call;       /* of the first: its row */
    char kernel[128];   /* of the first; "": not known */
};

/* Looks at the process's last calls; `stream`: a handle whose launches alone count, or NULL. 0 or
 * -errno. */
int gv_flight_work_read(sqlite3 *trace, int64_t process, const int64_t *stream,
                        struct gv_flight_work *work);

#endif
