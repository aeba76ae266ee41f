/* Shared by the parts of report/analyse/lines. */
#ifndef GV_ANALYSE_LINES_RUN_H
#define GV_ANALYSE_LINES_RUN_H

#include "report/analyse/lines/strata.h"
#include "report/analyse/totals/part.h"
#include "report/store/id_table.h"

#include <sqlite3.h>

#include <stdbool.h>

/* Calls of a thread before a call that tell cells apart; of calls that are the same, more. */
#define GV_LINES_BEFORE 8u
#define GV_LINES_NEAR   2u
#define GV_LINES_ALIKE  4096u

struct gv_lines_thread {
    uint32_t before[GV_LINES_BEFORE]; /* what they were */
    uint32_t at;
    uint32_t alike; /* how many of the last ones were the same */
    uint32_t ran;   /* how long its last operations took, 8 bits each */
    float chance;   /* that one of its calls is chosen */
    bool runs_node; /* or makes it */
    uint64_t node;  /* of autograd; 0: none */
};

struct gv_lines_call {
    int64_t id; /* 0: none */
    int64_t start_ns, stack, capture;
    uint64_t self;      /* what it does */
    uint32_t near, far; /* what came before it */
    float chance, one_of;
    uint32_t thread;
    uint16_t alike;     /* calls just before it that are the same */
    uint8_t known;      /* enum gv_strata_known */
    bool counted, runs; /* as a launch; an operation of it was taken */
    uint64_t node;      /* of autograd, that it works for; 0: none */
};

/* The last call that made an autograd node. */
struct gv_lines_node {
    uint64_t node;
    int64_t call;
};

/* The stack that captured a graph, from a time on. Handles are used again. */
struct gv_lines_capture {
    int64_t process, graph, from_ns, stack;
};

/* Of graphs that were made, or made ready to be launched; later ones have no captures. */
#define GV_LINES_CAPTURES 65536u

/* What the operations of a class have in common; those of one process. */
struct gv_lines_class {
    int64_t process, kind, name, copy_kind, capture;
    bool host_only;
    bool sampled;    /* some calls were measured, and of none is known when it ran */
    bool of_node;    /* of a graph: all their stacks are known */
    bool of_forward; /* their stacks are those of the forward pass */
};

struct gv_lines {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_id_table process_of;   /* a thread */
    struct gv_id_table host_only;    /* a process */
    struct gv_id_table work;         /* of an api, enum gv_gpu_work; whether it works or waits */
    struct gv_lines_thread *threads; /* by id */
    sqlite3_stmt *call;              /* one */
    struct gv_lines_call *known;     /* by id, the last ones */
    sqlite3_stmt *ranges, *range, *first_inside; /* `range`: one */
    int64_t range_ns, range_call;                /* the row of `ranges`; INT64_MAX: the end */
    struct gv_lines_node *nodes;                 /* by number */
    struct gv_lines_capture *captures;           /* by process, graph, time */
    size_t capture_count, capture_room;
    struct gv_strata strata;
    struct gv_lines_class *classes; /* by node */
    size_t class_room;
    struct gv_key_map class_numbers;
    struct gv_lines_call forgotten;
};

static inline struct gv_lines_thread *gv_lines_thread_of(const struct gv_lines *lines,
                                                         int64_t thread)
{
    return &lines->threads[thread > 0 && (uint64_t)thread < lines->process_of.rows ? thread : 0];
}

/* report/analyse/lines/captures.c */
int gv_lines_captures_read(struct gv_lines *lines);
/* The stack that captured the graph that is launched then; 0: none is known. */
int64_t gv_lines_capture_of(const struct gv_lines *lines, int64_t process, int64_t graph,
                            int64_t at_ns);

/* report/analyse/lines/nodes.c. Of a trace without nodes, these do nothing. */
int gv_lines_nodes_open(struct gv_lines *lines);
/* Which nodes the threads make or run at this call. */
int gv_lines_nodes_read(struct gv_lines *lines, int64_t start_ns, int64_t call);
/* A call that puts work on the GPU. */
void gv_lines_nodes_take(struct gv_lines *lines, struct gv_lines_call *call);
/* The call of the forward pass for which a call of the backward pass works, or NULL. */
const struct gv_lines_call *gv_lines_forward(const struct gv_lines *lines,
                                             const struct gv_lines_call *call);

/* report/analyse/lines/store.c */
int gv_lines_write(struct gv_lines *lines);

#endif
