/* Shared by the parts of report/analyse/lines. */
#ifndef GV_ANALYSE_LINES_RUN_H
#define GV_ANALYSE_LINES_RUN_H

#include "report/analyse/lines/pass.h"
#include "report/analyse/lines/strata.h"
#include "report/store/id_table.h"

#include <stdbool.h>

/* Calls of a thread before a call that tell cells apart; of calls that are the same, more. */
#define GV_LINES_BEFORE 8u
#define GV_LINES_NEAR   2u
#define GV_LINES_ALIKE  4096u

struct gv_lines_thread {
    uint32_t before[GV_LINES_BEFORE]; /* what they were */
    uint32_t at;
    uint32_t alike; /* how many of the last ones were the same */
    float chance;   /* that one of its calls is chosen */
};

struct gv_lines_call {
    int64_t id; /* 0: none */
    int64_t start_ns, stack;
    uint64_t self;      /* what it does, and its thread */
    uint32_t near, far; /* what came before it */
    uint32_t alike;     /* calls just before it that are the same */
    int64_t process;
    float chance, one_of;
    enum gv_strata_known known;
    bool counted;
};

/* What the operations of a class have in common; those of one process. */
struct gv_lines_class {
    int64_t process, kind, name, copy_kind, capture;
    bool host_only;
};

struct gv_lines {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_id_table process_of;       /* a thread */
    struct gv_id_table host_only;        /* a process */
    struct gv_id_table work;             /* of an api, enum gv_gpu_work */
    struct gv_lines_thread *threads;     /* by id */
    sqlite3_stmt *calls, *stacks, *call; /* `call`: one */
    struct gv_lines_call *known;         /* by id, the last ones */
    int64_t read;                        /* the last one that was read */
    int64_t stack_call;                  /* the row of `stacks`; INT64_MAX: the end */
    struct gv_strata strata;
    struct gv_lines_class *classes; /* by node */
    size_t class_room;
    struct gv_key_map class_numbers;
    struct gv_lines_call forgotten;
};

/* report/analyse/lines/store.c */
int gv_lines_write(struct gv_lines *lines);

#endif
