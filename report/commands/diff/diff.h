/*
 * Compares two sides, each of one or several traces: reads each trace, compares, writes.
 *
 * The values of all traces are in a database in memory, side by side. One thread.
 */
#ifndef GV_COMMANDS_DIFF_DIFF_H
#define GV_COMMANDS_DIFF_DIFF_H

#include "report/show/rows.h"
#include "report/store/database.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_DIFF_SIDES       2
#define GV_DIFF_WORDS_BYTES 256u
/* Most traces, both sides together. */
#define GV_DIFF_TRACES 64u

enum gv_diff_unit {
    GV_DIFF_NS,
    GV_DIFF_BYTES,
    GV_DIFF_COUNT,
    GV_DIFF_UNITS,

    /* Columns of a query that are not compared themselves. */
    GV_DIFF_ERROR_NS = GV_DIFF_UNITS, /* the standard error of the thing's GV_DIFF_NS */
    GV_DIFF_TIMES,                    /* how often it happened */
    GV_DIFF_COLUMNS
};

/* What the values of a thing rest on. */
enum gv_diff_basis {
    GV_DIFF_ON_CALLS,
    GV_DIFF_ON_GPU,      /* the GPU side: without it they are unknown */
    GV_DIFF_ON_GPU_SUMS, /* the same, but they may be estimated */
    GV_DIFF_ON_EITHER,   /* other evidence without it: only values of the same can be compared */
};

enum gv_diff_area_id {
#define GV_DIFF_AREA(name, by_range, by_step, title, what, counted, kernels) GV_DIFF_AREA_##name,
#include "report/commands/diff/areas.def"
    GV_DIFF_AREAS
};

struct gv_diff_area {
    const char *name;
    bool by_range, by_step;
    const char *title;
    const char *what;
    const char *counted; /* what the numbers of its things count */
    bool kernels;        /* its things have names of kernels */
};

extern const struct gv_diff_area gv_diff_areas[GV_DIFF_AREAS];
extern const char gv_diff_area_words[]; /* their names, " a b c" */

/* The test for "more than noise". */
enum gv_diff_test {
    GV_DIFF_TEST_NONE,   /* one trace per side: noise is unknown */
    GV_DIFF_TEST_RANGES, /* the ranges of the two sides' values do not overlap */
    GV_DIFF_TEST_RANK,   /* Mann and Whitney's, exact */
};

/* One trace. */
struct gv_diff_run {
    const char *path;
    bool gpu_seen;  /* all of it, or it is estimated */
    bool gpu_whole; /* all of it */
    bool sampled;   /* it is estimated */
    bool complete;
    int64_t lost;
    int64_t run_ns, steps; /* steps: of all devices */
    char device[GV_DIFF_WORDS_BYTES], headline[GV_DIFF_WORDS_BYTES];
};

/* One side's values: the median, minimum and maximum. */
struct gv_diff_range {
    size_t count; /* 0: unknown */
    double least, middle, most;
};

/* A number of both sides. */
struct gv_diff_change {
    enum gv_diff_area_id area;
    enum gv_diff_unit unit;
    double times; /* not 0: of each of the most times that it happened on a side, or steps */
    char *what;
    struct gv_diff_range sides[GV_DIFF_SIDES];
    double change;  /* of the middles */
    double p;       /* of the rank test; negative: none */
    bool more;      /* than noise, or perhaps */
    bool different; /* and large enough to be shown */
    bool unsure;    /* it would be, but for its standard error */
    double weight;  /* the change of the thing's first unit, by which things are sorted */
    size_t thing;   /* the same for all units of one */
};

struct gv_diff {
    struct gv_diff_run *runs; /* those before, then those after */
    size_t counts[GV_DIFF_SIDES];
    double least_change; /* as a share of the larger value: smaller changes are not shown */
    bool wanted[GV_DIFF_AREAS];

    sqlite3
        *values; /* also the table finding: the view's columns, then the run's number; and fact */
    enum gv_diff_test test;
    double chance;                  /* that something unchanged looks like more than noise */
    struct gv_diff_change *changes; /* in the order of output */
    size_t count, room;
    bool empty; /* there was nothing to compare */
};

/* The output. */
struct gv_diff_style {
    enum gv_format format;
    FILE *out;
    int columns; /* of text; INT_MAX: Markdown, which is not wrapped */
    int64_t top; /* things of an area; 0: all */
    bool all;    /* also what is not different, if it changed */
};

/* report/commands/diff/read.c: starts without values. 0 or -errno. */
int gv_diff_begin(struct gv_diff *diff);
/* Reads one open trace, run `number`. 0 or -errno. */
int gv_diff_read(struct gv_diff *diff, size_t number, sqlite3 *trace);
void gv_diff_free(struct gv_diff *diff);

/* report/commands/diff/compare.c: compares. 0 or -errno. */
int gv_diff_compare(struct gv_diff *diff);
/* Whether any change is different. */
bool gv_diff_any(const struct gv_diff *diff);
/* Whether to write the change. *shown counts the shown things of an area, *thing is the last
 * one; start an area with 0 and SIZE_MAX. */
bool gv_diff_shows(const struct gv_diff_change *change, const struct gv_diff_style *style,
                   int64_t *shown, size_t *thing);

/* report/commands/diff/print.c: as text or markdown; report/commands/diff/data.c: as JSON or CSV. 0
 * or -errno. */
int gv_diff_print(const struct gv_diff *diff, const struct gv_diff_style *style);
int gv_diff_print_data(const struct gv_diff *diff, const struct gv_diff_style *style);

/* ---- text.c: words for values, changes and tests of two runs ---- */

#define GV_DIFF_TEXT_BYTES 128u

/* A side's value: "12.3 ms", for several traces "12.3 ms (12.1 ms to 13.0 ms)". */
const char *gv_diff_say_range(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change,
                              size_t side);
/* "+1.20 ms" */
const char *gv_diff_say_change(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change);
/* "+12.3 %", "20.0 times", "new", "gone" */
const char *gv_diff_say_ratio(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change);
/* "yes, p 0.029", "no, p 0.34", "no", "perhaps": whether it is more than noise */
const char *gv_diff_say_noise(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change);

/* The test used. */
void gv_diff_say_test(char *out, size_t size, const struct gv_diff *diff);

/* The keys of a side's findings, their names with the phase, or the names of its facts, the first
 * ones first: at most `most`; with several traces, the most frequent first, and how many of the
 * traces have it. 0 or -errno. */
enum gv_diff_which { GV_DIFF_KEYS, GV_DIFF_FINDINGS, GV_DIFF_FACTS };
int gv_diff_each(const struct gv_diff *diff, size_t side, enum gv_diff_which which, int64_t most,
                 gv_database_take *take, void *context);

/* The nearest integer, limited to int64_t. */
int64_t gv_diff_whole(double value);

#endif
