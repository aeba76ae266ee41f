/*
 * The pass over a part of a trace that sums up what calls did, and gives it to those that want
 * sums: by range (totals.h), by step. It is a part of the totals (report/analyse/totals), which
 * read the calls and the operations anyway.
 *
 * In this order: gv_range_pass_open(); gv_range_pass_add() for each consumer;
 * gv_range_pass_unseen(); the calls and operations by their starts; gv_range_pass_end(), after
 * which each consumer has all of what the calls did.
 *
 * Memory: GV_RANGE_PASS_CALLS calls. One thread.
 */
#ifndef GV_ANALYSE_RANGES_PASS_H
#define GV_ANALYSE_RANGES_PASS_H

#include "report/analyse/ranges/consumer.h"
#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdint.h>

/* An operation is found without a query if so many calls with GPU work, at most, came since its
 * own. */
#define GV_RANGE_PASS_CALLS (1u << 17)

struct gv_range_pass;

/* 0 or -errno; close it in any case. */
int gv_range_pass_open(struct gv_range_pass **made, sqlite3 *trace,
                       const struct gv_totals_part *part);
/* Its number in sql_borders is that of consumers before it. Their sql is asked at the first of
 * the functions below. */
void gv_range_pass_add(struct gv_range_pass *pass, struct gv_range_consumer consumer);
void gv_range_pass_close(struct gv_range_pass *pass);

/* All of these do nothing if `pass` is NULL, and return 0 or -errno. */

/* A time in which the work of a process is not known, in any order. */
int gv_range_pass_unseen(struct gv_range_pass *pass, int64_t process, int64_t start_ns,
                         int64_t end_ns);
/* An operation of the part, in the order of their starts. */
int gv_range_pass_busy(struct gv_range_pass *pass, int64_t process, int64_t start_ns,
                       int64_t end_ns);
int gv_range_pass_busy_end(struct gv_range_pass *pass);

/* A call of the part. */
struct gv_range_pass_row {
    struct gv_range_call call;
    int64_t api, duration_ns, result, bytes, count;
};
int gv_range_pass_call(struct gv_range_pass *pass, const struct gv_range_pass_row *row);
/* What an operation of the part took; call 0: not known. */
int gv_range_pass_operation(struct gv_range_pass *pass, int64_t call, int64_t duration_ns);
int gv_range_pass_end(struct gv_range_pass *pass);

#endif
