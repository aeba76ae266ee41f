/*
 * What changed from one side, of one or several traces, to the other: numbers of the same name in
 * both.
 *
 * With several traces on each side a change is more than noise if the values of the two sides do
 * not overlap: the least of one is above the most of the other. With one trace that is not known.
 */
#ifndef GV_REPORT_DIFF_H
#define GV_REPORT_DIFF_H

#include "report/verdict.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_DIFF_SIDES 2

enum gv_diff_unit { GV_DIFF_NS, GV_DIFF_BYTES, GV_DIFF_COUNT };

/* One number of one trace. */
struct gv_diff_value {
    const char *area; /* of GV_DIFF_AREA */
    char *what;
    enum gv_diff_unit unit;
    bool of_gpu; /* the GPU's side tells it */
    size_t side, trace;
    int64_t value;
};

/* The values of one side. */
struct gv_diff_range {
    int64_t least, middle, most; /* middle: the lower one of an even count */
    size_t count;
};

struct gv_diff_change {
    const char *area;
    const char *what; /* belongs to a value */
    enum gv_diff_unit unit;
    struct gv_diff_range sides[GV_DIFF_SIDES];
    int64_t change; /* of the middles */
    bool noise_known, more_than_noise;
};

struct gv_diff {
    struct gv_diff_value *values;
    size_t count, room;
    struct gv_diff_change *changes;
    size_t change_count;
    size_t traces[GV_DIFF_SIDES];
    bool gpu_seen[GV_DIFF_SIDES];                    /* in all of the side's traces */
    bool classes[GV_DIFF_SIDES][GV_VERDICT_CLASSES]; /* told of any of them */
    int64_t window_ns;                               /* the longest run */
};

/* Takes the numbers of an open trace. 0 or -errno. */
int gv_diff_add(struct gv_diff *diff, sqlite3 *trace, size_t side);
/* Compares, when all are there; the largest changes come first in each area. 0 or -ENOMEM. */
int gv_diff_compare(struct gv_diff *diff);
void gv_diff_free(struct gv_diff *diff);

#endif
