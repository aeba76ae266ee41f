/* Shared by the parts of the pass. */
#ifndef GV_ANALYSE_RANGES_RUN_H
#define GV_ANALYSE_RANGES_RUN_H

#include "report/analyse/ranges/consumer.h"
#include "report/analyse/totals/part.h"
#include "report/store/beside.h"
#include "report/store/id_table.h"
#include "report/store/key_map.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#define GV_RANGE_PASS_CONSUMERS 2u

/* How long a process had no work, up to a moment. */
struct gv_range_clock {
    int64_t until_ns; /* it had work until then */
    int64_t idle_ns;  /* before that */
};

struct gv_range_unseen {
    int64_t process, start_ns, end_ns;
};

/* report/analyse/ranges/idle.c */
struct gv_range_idle {
    struct gv_range_clock *clocks;
    size_t clock_count, clock_room;
    struct gv_key_map clock_of; /* process -> clock + 1 */
    sqlite3_stmt *borders;      /* at the next one */
    bool begun, ended;
    struct gv_range_unseen *unseen;
    size_t unseen_count, unseen_room, unseen_at;
};

struct gv_range_known {
    int64_t call;
    int64_t buckets[GV_RANGE_PASS_CONSUMERS];
};

struct gv_range_pass {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_range_consumer consumers[GV_RANGE_PASS_CONSUMERS];
    size_t consumer_count;
    struct gv_range_idle idle;
    struct gv_id_table apis; /* whether it puts work on the GPU; enum gv_memory_space */
    struct gv_beside stalls, loads;
    sqlite3_stmt *late;
    bool begun, are_late;
    struct gv_range_known *known; /* by id */
};

void gv_range_idle_free(struct gv_range_idle *idle);

#endif
