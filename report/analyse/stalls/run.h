/*
 * One analysis: the trace's small tables in memory, and the chunk of calls that is analysed
 * together. Internal to report/analyse/stalls.
 */
#ifndef GV_ANALYSE_STALLS_RUN_H
#define GV_ANALYSE_STALLS_RUN_H

#include "report/pass/pass.h"
#include "report/analyse/gpu_unseen.h"
#include "report/analyse/stalls/evidence.h"
#include "report/analyse/starting.h"
#include "report/analyse/stopped.h"
#include "report/store/beside.h"
#include "report/store/id_table.h"

#include <sqlite3.h>
#include <stddef.h>

/* Calls in a chunk. More cost memory; fewer cost passes over the GPU's operations. */
#define GV_STALL_CHUNK 16384u

struct gv_stall_process {
    bool measured;
    struct gv_starting starting;
    bool blocking; /* CUDA_LAUNCH_BLOCKING */
    enum gv_stall_loading loading;
    int64_t machine;
};

struct gv_stall_api {
    const struct gv_stall_rule *rule;
    bool runtime;
    enum gv_api_class class;
    int64_t copies, copied_bytes_per_us; /* of the fastest */
};

struct gv_stall_stream {
    int64_t context;
    bool legacy;
};

struct gv_stall_place {
    int64_t process, context, stream;
    int tries;
};

enum gv_stall_statement {
#define GV_SQL(name, help, text) GV_STALL_##name,
#include "report/analyse_stalls_stalls.inc"
    GV_STALL_STATEMENT_COUNT
};

struct gv_stall_replay;

struct gv_stall_launch {
    int64_t call, stream, start_ns;
    bool meets; /* as GV_CALL_MEETS */
};

struct gv_stall_run {
    sqlite3 *trace;
    sqlite3_stmt *statements[GV_STALL_STATEMENT_COUNT];
    /* indexed by row number; the counts are the highest plus one */
    struct gv_stall_process *processes;
    struct gv_stall_api *apis;
    struct gv_stall_stream *streams;
    struct gv_stall_place *places;
    size_t places_to_learn; /* measured.c */
    size_t process_count, api_count, stream_count, place_count, context_count;
    struct gv_id_table kernels, modules, threads, shapes; /* module; api; process; local_bytes */
    int64_t *first_calls; /* by kernel: that launched it, or asked for it */
    struct gv_pass *pass;
    struct gv_beside code; /* the calls that loaded code */
    struct gv_gpu_unseen_list unseen;
    struct gv_stopped stopped;
    bool any_measured;
    int64_t any_jit, any_host; /* 0: none */
    struct gv_stall_judge judge;
    /* the chunk */
    struct gv_stall_call *calls;
    size_t call_count;
    struct gv_stall_replay *replay;
    int64_t next_id; /* of a row of stall */
};

/* Reads the small tables. 0 or -errno. Close it even after an error, after what was opened in it.
 */
int gv_stall_run_open(struct gv_stall_run *run, sqlite3 *trace);
void gv_stall_run_close(struct gv_stall_run *run);
/* Fills in what its stream and kernel say of a call. */
void gv_stall_call_complete(const struct gv_stall_run *run, struct gv_stall_call *call);
/* The statement, reset and ready to bind. NULL: see *error. */
sqlite3_stmt *gv_stall_statement(struct gv_stall_run *run, enum gv_stall_statement statement,
                                 int *error);
/* The first row with ?1 = value. NULL: no row, or see *error. */
sqlite3_stmt *gv_stall_row(struct gv_stall_run *run, enum gv_stall_statement statement,
                           int64_t value, int *error);
/* Steps to the next row. false: no more rows, and the statement is reset; or see *error. */
bool gv_stall_next(struct gv_stall_run *run, sqlite3_stmt *rows, int *error);
/* Runs a statement that has no rows, such as an INSERT. */
int gv_stall_put(struct gv_stall_run *run, enum gv_stall_statement statement, const int64_t *values,
                 int count);
/* Runs a script of several statements. */
int gv_stall_script(sqlite3 *trace, enum gv_stall_statement script);
/* &array[row], or NULL if there is no such row. */
#define GV_STALL_ROW(array, count, row)                                                            \
    ((row) > 0 && (uint64_t)(row) < (count) ? &(array)[row] : NULL)

/* report/analyse/stalls/pools.c: fills temp.stall_pool. */
int gv_stall_pools_find(struct gv_stall_run *run);

/* report/analyse/stalls/others.c: once for the trace. Close it even after an error. */
int gv_stall_others_open(struct gv_stall_run *run);
void gv_stall_others_close(struct gv_stall_run *run);

/* report/analyse/stalls/measured.c: once for the trace; then evidence for each chunk. */
int gv_stall_measure_open(struct gv_stall_run *run);
int gv_stall_measure_chunk(struct gv_stall_run *run);

/* report/analyse/stalls/inferred.c: evidence for each chunk. Closing undoes both this and
 * gv_stall_infer_now(). */
int gv_stall_infer_chunk(struct gv_stall_run *run);
void gv_stall_infer_close(struct gv_stall_run *run);
/* Replays the process's last calls and operations up to now. Tells how many launches are
 * unfinished, the first of them, and the first that meets other processes. */
int gv_stall_infer_now(struct gv_stall_run *run, int64_t process, struct gv_stall_launch *first,
                       struct gv_stall_launch *meeting, int64_t *count);
/* What is unfinished for a call that begins now. */
void gv_stall_infer(const struct gv_stall_run *run, struct gv_stall_call *call);

/* report/analyse/stalls/advice_pass.c: gives all stalls their advice. */
int gv_stall_advise(struct gv_stall_run *run);

#endif
