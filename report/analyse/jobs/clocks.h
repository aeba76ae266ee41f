/*
 * Aligns the clocks of several traces by the collectives that they share. No rank ends an
 * all-reduce, an all-gather or a reduce-scatter before the last one has begun it: each bounds the
 * difference of two clocks from both sides. What is shared is kept in a temporary database, so
 * memory does not grow with it. One thread.
 */
#ifndef GV_ANALYSE_JOBS_CLOCKS_H
#define GV_ANALYSE_JOBS_CLOCKS_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct gv_clocks;

enum gv_clock_method {
    GV_CLOCK_REFERENCE, /* times are on this one */
    GV_CLOCK_COLLECTIVES,
    GV_CLOCK_SAME_MACHINE, /* as the reference */
    GV_CLOCK_WALL,
};

/* One trace. A time t in it is t + offset_ns + t * drift on the reference clock. */
struct gv_trace_clock {
    int64_t unix_offset_ns; /* Unix time of its time 0, by its own clock */
    int64_t from_ns, until_ns;
    const char *host; /* NULL: not known */
    enum gv_clock_method method;
    double offset_ns, drift;
    int64_t error_ns; /* -1: not known */
    int64_t matched;  /* collectives */
};

/* 0 or -errno. */
int gv_clocks_open(struct gv_clocks **clocks);
void gv_clocks_close(struct gv_clocks *clocks);

/* Takes the collectives of an open trace: number `trace`. 0 or -errno. */
int gv_clocks_take(struct gv_clocks *clocks, int64_t trace, sqlite3 *opened);

/* Fills in method, offset, drift and error of all traces; the first one is the reference. One that
 * shares no collective with it is aligned by way of others that do, or else by the wall clocks. 0
 * or -errno. */
int gv_clocks_solve(struct gv_clocks *clocks, struct gv_trace_clock *traces, size_t count);

/* The words of the table clock. */
const char *gv_clock_method_name(enum gv_clock_method method);

#endif
