/*
 * Which of the program's ranges a call is in, by the rules of docs/ranges.md:
 *
 *    push   the calls of its thread between push and pop;
 *    start  the calls of all threads of its process that start between its start and its end;
 *    and a thread that never pushes is in the ranges of the thread that pushes, at that time, if
 *    exactly one thread of its process does.
 *
 * It reads as it goes, and has those ranges in memory that threads are in. A temporary table has
 * the ranges of kind start in the order of time. One thread.
 */
#ifndef GV_ANALYSE_RANGES_MEMBERSHIP_H
#define GV_ANALYSE_RANGES_MEMBERSHIP_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More that a call is in are left out: the outermost pushes, and the earliest starts. */
#define GV_MEMBERSHIP_PUSHES 1024u
#define GV_MEMBERSHIP_STARTS 256u

struct gv_membership;

/* Valid until the next question about the same thread. */
struct gv_member_of {
    const int64_t *ids; /* rows of range: pushes from the innermost outwards, then starts */
    size_t count;
    bool same; /* as at the thread's call before */
};

/* 0 or -errno; close it in any case. */
int gv_membership_open(struct gv_membership **made, sqlite3 *trace);
void gv_membership_close(struct gv_membership *membership);

/* The ranges of a call. The calls of each thread have to come in the order of their ids; INT64_MAX:
 * a call after all others, which has not returned. 0 or -errno. */
int gv_membership_of(struct gv_membership *membership, int64_t thread, int64_t call,
                     int64_t start_ns, struct gv_member_of *of);

#endif
