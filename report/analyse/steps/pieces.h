/*
 * Pieces of what a thread asked of the GPU, and whether they are alike.
 *
 * A stream takes the events of one thread: work for the GPU, and waits for it. A piece is a run of
 * events. Two things describe it: which events follow which, and which of them occur once or more
 * often. So a piece stays of its kind if an inner loop runs more often, or if a few events are
 * missing or added.
 */
#ifndef GV_ANALYSE_STEPS_PIECES_H
#define GV_ANALYSE_STEPS_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_PIECE_BUCKETS  256u
#define GV_PIECE_WORDS    (3 * GV_PIECE_BUCKETS / 64)
#define GV_PIECE_KINDS    8u
#define GV_PIECE_LINES    UINT32_MAX
#define GV_PIECE_EXAMPLES 2u
/* Events of which a piece is read one by one, if there are no more. */
#define GV_STEP_NOTES 128u

enum gv_step_role {
    GV_STEP_WORK,  /* a kernel, a set */
    GV_STEP_MOVE,  /* a copy that waits for nothing */
    GV_STEP_GRAPH, /* a graph is launched */
    GV_STEP_WAIT,  /* the host waits for the GPU */
    GV_STEP_FETCH, /* a copy for which the host waits */
};

struct gv_step_event {
    uint64_t symbol; /* equal events have equal ones */
    enum gv_step_role role;
    uint32_t line;   /* of the program, as a row of `place`; 0: not known */
    uint32_t weight; /* launches that are as much work; 0: one */
};

struct gv_step_stream {
    uint64_t position;  /* of the newest event, from 1 */
    uint64_t work;      /* of events that put work on the GPU, by weight */
    uint64_t works;     /* how many of these there were, but those that are no copies */
    uint64_t waits;     /* those that ended some work */
    uint64_t marks;     /* waits, copies and graphs */
    uint64_t predicted; /* events that followed what they had followed before */
    uint64_t foreseen;  /* events that could have been predicted */
    uint64_t before[3]; /* the newest first; of a run of equal events only one */
    uint64_t last_work;
    bool working;                       /* there was work since the last wait */
    uint64_t follows[GV_PIECE_BUCKETS]; /* where two events last followed each other */
    uint64_t last[GV_PIECE_BUCKETS], second_last[GV_PIECE_BUCKETS]; /* where an event was */
    struct gv_step_next {
        uint32_t context, tag; /* of three events, and of the one after them */
    } next[2048][2];           /* of two in one place, the newest first */
    uint32_t runs[GV_PIECE_BUCKETS], events[GV_PIECE_BUCKETS];
    struct {
        uint32_t line, votes, seen; /* where an event is mostly: others vote against it */
    } lines[GV_PIECE_BUCKETS];
    bool is_work[GV_PIECE_BUCKETS], is_graph[GV_PIECE_BUCKETS];
    struct {
        uint64_t position;
        uint32_t follows, bucket;
    } notes[GV_STEP_NOTES]; /* what was noted last above */
    uint64_t noted;
};

struct gv_piece {
    uint64_t bits[GV_PIECE_WORDS];
};

struct gv_piece_kind {
    /* The piece that comes most often if there is one, and the newest that was not quite the same.
     */
    struct gv_piece examples[GV_PIECE_EXAMPLES];
    uint32_t again[GV_PIECE_EXAMPLES]; /* how often it came again, less what spoke against it */
    uint32_t example_count;
    uint64_t count, work;
    uint64_t from_work; /* that of all pieces before the first of this kind */
};

struct gv_piece_kinds {
    struct gv_piece_kind kind[GV_PIECE_KINDS];
    size_t count;
    uint64_t work; /* of all pieces */
};

/* Whether the event says something: a wait without work before it does not. */
bool gv_step_stream_counts(const struct gv_step_stream *stream, const struct gv_step_event *event);
void gv_step_stream_take(struct gv_step_stream *stream, const struct gv_step_event *event);
/* How much better than chance events are predicted by what came before them; 1: always. Of
 * `foreseen` ones, `predicted` were. */
double gv_step_stream_order(const struct gv_step_stream *stream, uint64_t predicted,
                            uint64_t foreseen);

/* Where an event mostly was; GV_PIECE_LINES: at several lines; 0: not known. */
uint32_t gv_step_stream_line(const struct gv_step_stream *stream, uint64_t symbol);

/* Whether all that the pieces of a kind do is known to be at one line of the program. */
bool gv_piece_is_line(const struct gv_piece_kind *kind, const struct gv_step_stream *stream);
/* Whether they do work once, other than for a wait at the same line. */
bool gv_piece_works_once(const struct gv_piece_kind *kind, const struct gv_step_stream *stream);

/* The events after this position. */
void gv_piece_cut(struct gv_piece *piece, const struct gv_step_stream *stream, uint64_t after);
/* The kind that it is alike, or else most like; or -1. `like`: from 0 to 1, how much it is like the
 * one that it is most like. */
int gv_piece_kinds_find(const struct gv_piece_kinds *kinds, const struct gv_piece *piece,
                        double *like);
/* How much of the best kind's pieces is in this one: 1: all. */
double gv_piece_kinds_within(const struct gv_piece_kinds *kinds, const struct gv_piece *piece,
                             int *kind);
/* Adds it to its kind, or to a new one, and returns that. */
int gv_piece_kinds_add(struct gv_piece_kinds *kinds, const struct gv_piece *piece, uint64_t work);

/* Pieces are alike from here on. */
#define GV_PIECE_ALIKE 0.5

#endif
