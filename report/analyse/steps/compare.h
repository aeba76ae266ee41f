/*
 * Compares the steps of a trace: the first with the others, the slowest with those of its kind, the
 * later with the earlier. It reads the tables step_series and step. One thread.
 */
#ifndef GV_ANALYSE_STEPS_COMPARE_H
#define GV_ANALYSE_STEPS_COMPARE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define GV_STEPS_TEXT 256u

/* Of the series whose steps took longest. */
struct gv_steps_compared {
    int64_t series, count, kinds; /* count: 0: there are no steps */
    bool more;                    /* there are other series */
    char name[GV_STEPS_TEXT];     /* of the range or mark; "" for launches */
    char source[16];
    int64_t median_ns; /* of the most frequent kind, without the first ones */
    int64_t warmup, warmup_ns;
    char warmup_why[GV_STEPS_TEXT]; /* what they had more; "": not known */
    int64_t slowest, lost_ns;       /* slowest: its number; 0: none stands out */
    char slowest_why[GV_STEPS_TEXT];
    char slowest_range[GV_STEPS_TEXT]; /* in which it lost most of that; "": none */
    double drift; /* how much longer the later half takes, such as 0.1; 0: none that is sure */
};

/* 0 or -errno. */
int gv_steps_compare(sqlite3 *trace, struct gv_steps_compared *compared);

#endif
