/*
 * The pass over a part of a trace that sums up what calls did, and gives it to those that want
 * sums: by range (totals.h), by step. It is a part of the totals (report/analyse/totals), which
 * read the calls and the operations anyway.
 *
 * In this order: gv_range_pass_open(); gv_range_pass_add() for each consumer;
 * gv_range_pass_unseen(), gv_range_pass_busy() and gv_range_pass_busy_end(), after which each
 * consumer knows how much of its intervals was idle; gv_range_pass_call() and
 * gv_range_pass_calls_end(), after which each has all of what the calls did.
 *
 * Memory: GV_RANGE_PASS_CALLS calls, and the intervals that are open at the same time. It reads
 * each operation once. One thread.
 */
#ifndef GV_ANALYSE_RANGES_PASS_H
#define GV_ANALYSE_RANGES_PASS_H

#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* An operation is found without a query if so many calls with GPU work, at most, came since its
 * own. */
#define GV_RANGE_PASS_CALLS     (1u << 17)
#define GV_RANGE_PASS_CONSUMERS 2u

/* The columns of range_total and step. */
struct gv_range_sums {
    int64_t calls;        /* rows that stand for several polls count as these */
    int64_t launches;     /* calls that put work on the GPU */
    int64_t gpu_ns;       /* of the operations that these calls put there */
    int64_t stalls;       /* unexpected ones */
    int64_t stall_ns;     /* waiting and compiling */
    int64_t max_stall_ns; /* of one stall */
    int64_t idle_ns;
    int64_t loads, load_ns;
    int64_t allocations, allocated_bytes; /* of device memory */
};

void gv_range_sums_add(struct gv_range_sums *sums, const struct gv_range_sums *more);

/* One call of the part. */
struct gv_range_call {
    int64_t id, thread, process, start_ns;
};

struct gv_range_consumer {
    void *context;
    /* In which bucket of yours a call is; 0: none. A bucket is any number, such as that of a set of
     * names. Calls of a thread come in the order of time; those of different threads do not. */
    int (*place)(void *context, const struct gv_range_call *call, int64_t *bucket);
    /* What a call in the bucket did. Its operations come later, each with nothing but gpu_ns. 0,
     * -errno, or GV_RANGE_FORGOTTEN. */
    int (*add)(void *context, int64_t bucket, const struct gv_range_sums *did);
    /* Some calls come again, from the first on, because their operations were late. May be NULL. */
    int (*again)(void *context);
    /* For how long no device of its process had work in an interval of sql_intervals. */
    int (*idle)(void *context, int64_t key, int64_t idle_ns);
};

/* You gave the bucket up: the operation comes again after all calls, when `place` is asked again.
 */
#define GV_RANGE_FORGOTTEN 1

struct gv_range_pass;

/* 0 or -errno; close it in any case. */
int gv_range_pass_open(struct gv_range_pass **made, sqlite3 *trace,
                       const struct gv_totals_part *part);
/* Its number in sql_intervals is that of consumers before it. Their sql is asked at the first of
 * the functions below. */
void gv_range_pass_add(struct gv_range_pass *pass, const struct gv_range_consumer *consumer);
void gv_range_pass_close(struct gv_range_pass *pass);

/* All of these do nothing if `pass` is NULL, and return 0 or -errno. */

/* A time in which the work of a process is not known, in any order. */
int gv_range_pass_unseen(struct gv_range_pass *pass, int64_t process, int64_t start_ns,
                         int64_t end_ns);
/* An operation of the part, in the order of their starts. */
int gv_range_pass_busy(struct gv_range_pass *pass, int64_t process, int64_t start_ns,
                       int64_t end_ns);
int gv_range_pass_busy_end(struct gv_range_pass *pass);

/* A call of the part, in the order of the ids. */
struct gv_range_pass_row {
    struct gv_range_call call;
    int64_t api, duration_ns, result, bytes, count;
};
int gv_range_pass_call(struct gv_range_pass *pass, const struct gv_range_pass_row *row);
int gv_range_pass_calls_end(struct gv_range_pass *pass);

#endif
