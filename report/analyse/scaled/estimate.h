/*
 * Estimates what the GPU did for all calls, from those of a sample of the time: the windows of
 * GPUVERIFY_GPU=windows that were chosen at random. docs/windows.md explains the estimate.
 *
 * Calls that are alike are a cell; cells are the leaves of a tree of GV_ESTIMATE_DEPTH levels, of
 * which each compares more. A call whose GPU side is not known did as much as the calls of its cell
 * in the sample did on average, in proportion to their size. Cells of which too few windows have
 * calls are put together with their like: under the same node above.
 *
 * The standard error is that of a jackknife: how much the estimate changes without the windows of
 * one group. Calls of one window are alike, so windows are what varies, not calls.
 *
 * Memory does not grow with the number of calls: when there are GV_ESTIMATE_NODES nodes, a new cell
 * becomes part of the node above it. One thread.
 */
#ifndef GV_ANALYSE_SCALED_ESTIMATE_H
#define GV_ANALYSE_SCALED_ESTIMATE_H

#include "report/store/key_map.h"

#include <stddef.h>
#include <stdint.h>

#define GV_ESTIMATE_DEPTH   3u
#define GV_ESTIMATE_NODES   4096u
#define GV_ESTIMATE_GROUPS  64u
#define GV_ESTIMATE_DEVICES 64u
/* Fewer windows than these say too little about a cell. */
#define GV_ESTIMATE_FEW 4u

/* What a call did on the GPU. The error of the first two is known. */
enum gv_estimate_amount {
    GV_ESTIMATE_NS,   /* time of its operations */
    GV_ESTIMATE_BUSY, /* the part of it in which the device was not busy without them */
    GV_ESTIMATE_ERRORS,
    GV_ESTIMATE_OWN = GV_ESTIMATE_ERRORS, /* in which no other copied, or no other computed */
    GV_ESTIMATE_OPERATIONS,
    GV_ESTIMATE_BYTES,
    GV_ESTIMATE_AMOUNTS
};

enum gv_estimate_known {
    GV_ESTIMATE_UNSEEN,  /* the GPU side was not recorded when it began */
    GV_ESTIMATE_SEEN,    /* it was, but not because of chance */
    GV_ESTIMATE_SAMPLED, /* it was, in a window that was chosen at random */
};

/* Of one kind (as in gpu_op) and number: a kernel's rank, a copy's kind. */
struct gv_estimate_work {
    int64_t kind, number;
    size_t device;
    int64_t amounts[GV_ESTIMATE_AMOUNTS];
};

struct gv_estimate_call {
    uint64_t keys[GV_ESTIMATE_DEPTH]; /* the coarsest first */
    int64_t kernel, api;              /* rows of kernel (0: none) and api */
    double size;                      /* 1, or of a copy its bytes and more */
    enum gv_estimate_known known;
    size_t window;                        /* of a sampled one: its number */
    const struct gv_estimate_work *works; /* unless it is unseen */
    size_t count;
};

struct gv_estimate_row {
    int64_t kind, number;
    double known[GV_ESTIMATE_AMOUNTS];  /* of the calls that were seen */
    double unseen[GV_ESTIMATE_AMOUNTS]; /* estimated of the others */
    double changes[GV_ESTIMATE_GROUPS]; /* of NS, without the group */
    double doubt_ns;                    /* of the others: what few windows tell */
};

/* Calls of which none was seen: what they did is not known. */
struct gv_estimate_unknown {
    int64_t kernel, api, calls;
};

struct gv_estimate_node {
    size_t above; /* SIZE_MAX: none */
    unsigned depth;
    int64_t kernel, api;
    double unseen; /* sizes of calls */
    int64_t calls; /* unseen ones */
    double known;  /* of the first level: of all calls below that were seen */
    double size;   /* of the sample */
    double sizes[GV_ESTIMATE_GROUPS];
};

/* What the sample's calls of a node did. */
struct gv_estimate_entry {
    size_t node, row, device;
    double known[GV_ESTIMATE_AMOUNTS]; /* as in the node */
    double sums[GV_ESTIMATE_AMOUNTS];
    double by_group[GV_ESTIMATE_ERRORS][GV_ESTIMATE_GROUPS];
};

struct gv_estimate {
    struct gv_estimate_node *nodes; /* a node comes after the one above it */
    size_t node_count, node_room;
    struct gv_estimate_entry *entries;
    size_t entry_count, entry_room;
    struct gv_estimate_row *rows;
    size_t row_count, row_room;
    struct gv_estimate_unknown *unknown;
    size_t unknown_count, unknown_room;
    struct gv_key_map node_numbers, entry_numbers, row_numbers;
    /* Results, with those that were seen. computing: kernels and graphs; copying: the others. */
    struct gv_estimate_device {
        double busy_ns, computing_ns, copying_ns;
    } devices[GV_ESTIMATE_DEVICES];
    double busy_changes[GV_ESTIMATE_GROUPS], busy_doubt_ns;
    size_t windows; /* of the sample: those with a call, and those of gv_estimate_window() */
    unsigned char groups[GV_ESTIMATE_GROUPS];
};

/* A window of the sample, also if no call is in it. */
void gv_estimate_window(struct gv_estimate *estimate, size_t window);
/* Work that is known, and stands for no other. 0 or -ENOMEM. */
int gv_estimate_take(struct gv_estimate *estimate, const struct gv_estimate_work *work);
/* 0 or -ENOMEM. */
int gv_estimate_add(struct gv_estimate *estimate, const struct gv_estimate_call *call);
/* After the last call: fills in the results. 0 or -ENOMEM. */
int gv_estimate_solve(struct gv_estimate *estimate);
/* The row of an operation; NULL: no call had such a one. */
const struct gv_estimate_row *gv_estimate_row_of(const struct gv_estimate *estimate, int64_t kind,
                                                 int64_t number);
/* The standard errors: the truth is within twice that 19 times of 20, also with few windows. */
double gv_estimate_row_error(const struct gv_estimate *estimate, const struct gv_estimate_row *row);
double gv_estimate_busy_error(const struct gv_estimate *estimate);
void gv_estimate_free(struct gv_estimate *estimate);

#endif
