/*
 * A trace as a timeline: tracks with pieces of time on them, and counters. One walk over the trace
 * hands them to a writer, in bounded memory.
 */
#ifndef GV_COMMANDS_EXPORT_TRACKS_H
#define GV_COMMANDS_EXPORT_TRACKS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* The most arguments of a piece. */
#define GV_TRACK_ARGUMENTS 32

enum gv_track_shape {
    GV_TRACK_PROCESS,
    GV_TRACK_THREAD,
    GV_TRACK_GROUP,
    GV_TRACK_PIECES,
    GV_TRACK_NESTED,
    GV_TRACK_COUNTER,
};

/* A track, before anything on it. Texts come from the trace, belong to the walk, and are valid
 * while the writer is told. */
struct gv_track {
    enum gv_track_shape shape;
    const char *kind; /* its row of tracks.def; NULL: a counter */
    uint32_t id;      /* from 1, one after the other */
    uint32_t parent;  /* a track that the writer knows; 0: none */
    int64_t of;       /* the first number of its description */
    int64_t pid, tid; /* of a process and a thread; 0: none */
    int64_t rank; /* its place among the tracks of its process, or if it is in none, of the trace */
    int64_t start_ns;      /* of a process */
    const char *name;      /* two tracks of one parent with one name are shown as one */
    const char *unit;      /* of a counter */
    const char *arguments; /* of a process; NULL: none */
};

struct gv_track_argument {
    const char *name;
    const char *text; /* NULL: a number */
    int64_t number;
    double real;
    bool is_real;
};

enum gv_track_extent {
    GV_TRACK_ENDED,
    GV_TRACK_OPEN,   /* it has no end */
    GV_TRACK_MOMENT, /* it takes no time */
};

/* The pieces of a track are told in the order of their starts. Of two, one is inside the other, or
 * it has ended when the other begins. So a viewer that sorts them by their starts, and leaves equal
 * ones as they came, sees them nested. */
struct gv_track_piece {
    uint32_t track; /* its id */
    uint32_t depth; /* so many pieces of its track are around it */
    int64_t id;     /* of its row */
    enum gv_track_extent extent;
    int64_t start_ns, end_ns; /* not negative; end_ns: of one that ended */
    const char *name, *category;
    /* Numbers of arrows: pieces with the same one are joined. 0: none. The first of them, at which
     * the arrow begins, is the call that has this number. */
    uint64_t arrows[2];
    const struct gv_track_argument *arguments;
    int argument_count;
};

/* Each returns 0; or anything else, which ends the walk. */
struct gv_tracks_writer {
    void *context;
    bool is_page; /* leaves out what is not on it */
    int (*track)(void *context, const struct gv_track *track);
    int (*piece)(void *context, const struct gv_track_piece *piece);
    /* What a counter was at a time, or in the time before, of that length. */
    int (*count)(void *context, uint32_t track, int64_t at_ns, int64_t length_ns, double value);
};

/* The caller has registered gv_sql_values_register(). 0, -errno, or what the writer returned. */
int gv_tracks_walk(sqlite3 *trace, const struct gv_tracks_writer *writer);

#endif
