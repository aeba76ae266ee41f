/*
 * Finds the steps of a thread in what it asks of the GPU, without its words.
 *
 * What may end or begin a step is an anchor: a wait for the GPU, a copy, a launch of a graph, or
 * else any other work. For each anchor, the pieces from one to the next are compared (pieces.h). It
 * bounds steps if there are at least GV_STEP_LEAST pieces, nearly all launches are in pieces like
 * others, and the order of the events is not random. Such anchors are of loops in loops. From the
 * outermost one, it goes into an inner one that repeats often and is not a single line. Of a loop's
 * anchors, the one with the most common count wins, because some steps may lack some launches.
 * docs/steps.md has the reasons.
 *
 * Memory: about 100 kB for each thread, however long it runs. One thread.
 */
#ifndef GV_ANALYSE_STEPS_DETECTOR_H
#define GV_ANALYSE_STEPS_DETECTOR_H

#include "report/analyse/steps/pieces.h"

#define GV_STEP_LEAST 4u

enum gv_step_anchor_class {
    GV_STEP_ANCHOR_NONE,
    GV_STEP_ANCHOR_END,  /* a wait, and the work before it */
    GV_STEP_ANCHOR_CALL, /* a wait by a call */
    GV_STEP_ANCHOR_ANY,  /* any wait */
    GV_STEP_ANCHOR_MOVE, /* a copy between host and device */
    GV_STEP_ANCHOR_GRAPH,
    GV_STEP_ANCHOR_WORK, /* other work */
};

struct gv_step_anchor {
    enum gv_step_anchor_class class;
    uint64_t key;
    uint64_t first; /* the event after an anchor that ends steps, mostly */
    bool equal;     /* all steps are of one kind, although they are like several */
    struct gv_piece_kinds kinds;
};

struct gv_step_detector;

/* NULL: there is no memory. */
struct gv_step_detector *gv_step_detector_open(void);
void gv_step_detector_close(struct gv_step_detector *detector);
/* 0 or -ENOMEM. */
int gv_step_detector_take(struct gv_step_detector *detector, const struct gv_step_event *event);
/* True: there are steps. */
bool gv_step_detector_choose(const struct gv_step_detector *detector,
                             struct gv_step_anchor *anchor);

/* A piece that is a step. kind: number in the anchor's kinds. */
struct gv_step_found {
    int64_t start_ns, end_ns;
    int kind;
};

/* Cuts the same events at the anchor. */
struct gv_step_cutter {
    const struct gv_step_anchor *anchor;
    struct gv_step_stream stream;
    uint64_t works;   /* at the last anchor */
    uint64_t after;   /* the piece begins after this position */
    int64_t start_ns; /* of the piece */
    int64_t end_ns;   /* of the newest event */
    bool open;        /* the piece has begun */
    bool first_seen;  /* with the event that is mostly first */
    bool running;     /* there was a step */
};

/* True: a step ended. */
bool gv_step_cutter_take(struct gv_step_cutter *cutter, const struct gv_step_event *event,
                         int64_t start_ns, int64_t end_ns, struct gv_step_found *found);
bool gv_step_cutter_end(struct gv_step_cutter *cutter, struct gv_step_found *found);

#endif
