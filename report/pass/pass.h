/*
 * Reads a finished trace once, by the time at which things began: its calls and operations, and
 * what a consumer adds, such as looks at threads. Consumers get them one after the other.
 *
 * Rows are stored as they drain, so they are put in order first (report/pass/sorted.h); no index is
 * kept for that in the trace. Ids and numbers that no trace of ours has are read as 0. One thread.
 */
#ifndef GV_PASS_PASS_H
#define GV_PASS_PASS_H

#include "report/pass/sorted.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* A row of `call`. */
struct gv_pass_call {
    struct gv_pass_key key; /* when it began and ended; of polls that are one row: the last */
    int64_t duration_ns;    /* of polls: of all together */
    int64_t bytes, object;
    uint32_t thread, api, kernel, stream, context;
    int32_t result;
    uint32_t folded; /* so many polls; 0: it is one call */
    uint32_t stack;  /* 0: none */
    uint32_t
        one_of; /* its stack stands for so many calls, as it was chosen at random; 0: it was not */
    bool has_other_stack; /* that of another call */
};

/* A row of `gpu_op`. */
struct gv_pass_operation {
    struct gv_pass_key key;
    int64_t call; /* 0: not known */
    int64_t bytes;
    uint32_t place, shape;
    uint32_t node;  /* of a graph, numbered in this pass; 0: none */
    uint32_t stack; /* of the call that added the node; 0: not known */
    int32_t copy_kind;
    uint8_t kind;      /* enum gv_gpu_kind */
    bool has_start;    /* of untimed ones */
    bool is_of_thread; /* of gv_pass_open() */
};

typedef int gv_pass_take_operation(void *context, const struct gv_pass_operation *operation);

/* 0: go on; anything else ends the pass. What is NULL is not read. */
struct gv_pass_consumer {
    void *context;
    int (*call)(void *context, const struct gv_pass_call *call);
    gv_pass_take_operation *operation;
};

/* Records of a consumer's own, sorted; they begin with a struct gv_pass_key. */
struct gv_pass_stream {
    struct gv_pass_sorted *records;
    void *context;
    int (*take)(void *context, const void *record);
};

struct gv_pass;

/* Puts the trace's rows in order. thread: whose operations are marked; 0: all are. Close *pass in
 * any case. 0 or -errno. */
int gv_pass_open(struct gv_pass **pass, sqlite3 *trace, int64_t thread);
void gv_pass_close(struct gv_pass *pass);

/* What the operations of a row of gpu_place took. */
struct gv_pass_times {
    int64_t first_ns, last_ns; /* first_ns > last_ns: none */
    int64_t total_ns;          /* of all operations */
};
struct gv_pass_times gv_pass_times_of_place(const struct gv_pass *pass, int64_t place);

/* Gives all that have times to the consumer; of the same moment: calls first, then the stream's
 * records, then operations. `stream` may be NULL. It can be called again. 0, -errno, or what the
 * consumer ended with. */
int gv_pass_run(struct gv_pass *pass, const struct gv_pass_consumer *consumer,
                const struct gv_pass_stream *stream);
/* The same of operations that ran between two times; and of those that have no start or no end. */
int gv_pass_run_between(struct gv_pass *pass, int64_t from_ns, int64_t to_ns,
                        gv_pass_take_operation *take, void *context);
int gv_pass_run_untimed(struct gv_pass *pass, gv_pass_take_operation *take, void *context);

/* For those that take calls when they want them, while nobody else runs them: NULL at the end. 0 or
 * -errno. */
int gv_pass_begin_calls(struct gv_pass *pass);
int gv_pass_next_call(struct gv_pass *pass, const struct gv_pass_call **call);

#endif
