/*
 * Estimates what each stack asked of the GPU, from the few calls whose stack is known.
 * docs/lines.md explains the estimate.
 *
 * An item is one operation, or one call without operations. Items that are alike are a cell; cells
 * are the leaves of a tree: below a class come GV_STRATA_DEPTH levels. The first compares what the
 * calls do, and each of the others more of what the thread did before. A call whose own stack is
 * known counts for itself. The rest of a cell is divided as the cell's randomly chosen calls are. A
 * cell without any takes after its group (struct gv_strata_node) if that says one row, and else
 * after the cells beside it that have some, weighted so that a rare line in many small cells gets
 * its share. If no call that does the same was chosen, but all whose own stack is known are of one
 * line, it is that line before it is those of calls that do something else.
 *
 * Memory does not grow with the number of items: when there are GV_STRATA_NODES nodes, a new cell
 * becomes part of the node above it. One thread.
 */
#ifndef GV_ANALYSE_LINES_STRATA_H
#define GV_ANALYSE_LINES_STRATA_H

#include "report/store/key_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_STRATA_DEPTH   7u
#define GV_STRATA_NODES   32768u
#define GV_STRATA_ENTRIES 65536u
#define GV_STRATA_NONE    SIZE_MAX

enum gv_strata_amount {
    GV_STRATA_GPU,
    GV_STRATA_ERROR, /* of what is an estimate itself, and has one error in common */
    GV_STRATA_CALLS,
    GV_STRATA_QUEUED,
    GV_STRATA_IDLE,
    GV_STRATA_AMOUNTS
};

/* What is known of a call's stack. */
enum gv_strata_known {
    GV_STRATA_NOTHING,
    GV_STRATA_OTHER,  /* the stack of an earlier call of its site */
    GV_STRATA_OWN,    /* its own, but it was not chosen at random */
    GV_STRATA_CHOSEN, /* its own, and it was */
};

struct gv_strata_item {
    size_t class;
    uint64_t keys[GV_STRATA_DEPTH]; /* the coarsest first */
    int64_t call;                   /* items of a call come one after the other */
    double chance;                  /* that a call like this is chosen */
    double one_of;                  /* of a chosen call: it stands for so many */
    enum gv_strata_known known;
    int64_t stack;
    int64_t amounts[GV_STRATA_AMOUNTS];
};

/* What a stack asked for within a class. */
struct gv_strata_row {
    size_t class;
    int64_t stack;                      /* 0: not known */
    int64_t amounts[GV_STRATA_AMOUNTS]; /* of calls whose own stack it is; at last, with the rest */
    double estimate[GV_STRATA_AMOUNTS]; /* of the rest */
    int64_t samples, last_call;
    /* Without a chosen call in its class: calls of this stack, also if it is that of another call
     * of their site, and the latter's amounts. */
    int64_t guesses;
    double guessed[GV_STRATA_AMOUNTS];
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
    /* Of a cell: its group is the cells that do the same for as long, whatever came before. If it
     * has no chosen call, but its group has many, all of one row: that row, and how many. Of a node
     * of calls that do the same, without a chosen one: the row of those whose own stack is known.
     */
    struct gv_key group;
    size_t row; /* GV_STRATA_NONE: divided like the cells beside it */
    int64_t row_chosen;
    double row_gpu; /* its GPU time, which that row gets */
};

/* The calls of a cell and a row that have a stack of their own. */
struct gv_strata_entry {
    size_t cell, row;
    double gpu, calls;      /* times what each stands for */
    int64_t chosen, others; /* others: not chosen, and not in the above */
};

struct gv_strata {
    struct gv_strata_node *nodes; /* a node comes after the one above it */
    size_t node_count, node_room;
    struct gv_strata_entry *entries;
    size_t entry_count, entry_room;
    struct gv_strata_row *rows;
    size_t row_count, row_room;
    struct gv_key_map node_numbers, entry_numbers, row_numbers;
};

/* Makes a class. 0 or -ENOMEM. */
int gv_strata_class(struct gv_strata *strata, size_t *class);
/* 0 or -ENOMEM. */
int gv_strata_add(struct gv_strata *strata, const struct gv_strata_item *item);
/* Fills in the estimates, after the last item. `place_of` gives the line of a stack. 0 or -errno.
 */
typedef int gv_strata_place(void *context, int64_t stack, int64_t *place);
int gv_strata_solve(struct gv_strata *strata, gv_strata_place *place_of, void *context);

/*
 * Then the squares of the standard errors of GPU time by line are added to `squares`. `line_of`
 * gives the line of a row as an index of `squares`. 0 or -ENOMEM.
 */
typedef size_t gv_strata_line(const void *context, const struct gv_strata_row *row);
int gv_strata_errors(struct gv_strata *strata, gv_strata_line *line_of, const void *context,
                     double *squares);
void gv_strata_free(struct gv_strata *strata);

#endif
