/* The tree of cells of report/analyse/lines/strata.h, for its own files. */
#ifndef GV_ANALYSE_LINES_STRATA_TREE_H
#define GV_ANALYSE_LINES_STRATA_TREE_H

#include <stddef.h>
#include <stdint.h>

#define GV_STRATA_NONE SIZE_MAX

enum gv_strata_amount {
    GV_STRATA_GPU,
    GV_STRATA_CALLS,
    GV_STRATA_QUEUED,
    GV_STRATA_IDLE,
    GV_STRATA_AMOUNTS
};

/* By what amounts are divided: GPU time by GPU time, all else by calls. */
enum gv_strata_measure { GV_STRATA_BY_TIME, GV_STRATA_BY_CALLS, GV_STRATA_MEASURES };

/* Of items whose call was chosen at random, or has no stack of its own. */
struct gv_strata_part {
    double amounts[GV_STRATA_AMOUNTS]; /* of the latter only: what has to be divided */
    double gpu, calls;                 /* of both */
    double chance;  /* of all these calls, together: how many were to be chosen */
    int64_t chosen; /* how many were */
};

/* How often a part like this has no chosen call, for each time that it has one. */
double gv_strata_odds(const struct gv_strata_part *part);

struct gv_strata_node {
    size_t above; /* GV_STRATA_NONE: it is a class */
    size_t class;
    unsigned depth;
    int64_t last_call;
    struct gv_strata_part direct, all; /* `all`: with the nodes below */
    double chosen_gpu, chosen_calls;   /* of the entries, each times what it stands for */
    /* Of the parts that it consists of: the amounts of those without a chosen call; the weights of
     * the others for these amounts, and for what the node itself gets. */
    double lacking[GV_STRATA_AMOUNTS];
    double odds[GV_STRATA_MEASURES];
    double weights[GV_STRATA_MEASURES];
    double extra[GV_STRATA_AMOUNTS];
    double odds_squared, lacking_squared; /* of each part, of GPU time */
};

/* The chosen calls of a cell and a row. */
struct gv_strata_entry {
    size_t cell, row;
    double gpu, calls; /* times what each stands for */
    int64_t chosen;
};

#endif
