/*
 * One analysis under way: the trace's small tables in memory, by row number, and the calls that are
 * looked at together. Internal to report/analyse/stalls.
 */
#ifndef GV_ANALYSE_STALLS_RUN_H
#define GV_ANALYSE_STALLS_RUN_H

#include "report/analyse/stalls/evidence.h"

#include <sqlite3.h>
#include <stddef.h>

/* Calls that are looked at together; more only cost memory, fewer more passes over the GPU's
 * operations. */
#define GV_STALL_CHUNK 16384u

struct gv_stall_process {
    bool measured;
    bool initialised;  /* a long call of the runtime was seen */
    int64_t unseen_ns; /* of what was launched from then on, not all is there */
};

struct gv_stall_api {
    const struct gv_stall_rule *rule;
    bool runtime;
    int64_t copies, copied_bytes_per_us; /* of the fastest */
};

struct gv_stall_stream {
    int64_t context;
    bool legacy;
};

struct gv_stall_kernel {
    int64_t module;
    int64_t first_call, first_ns;
};

struct gv_stall_place {
    int64_t process, context, stream;
    int tries;
};

/* Operations of neighbouring ids: when they ran. */
struct gv_stall_zone {
    int64_t first_id, last_id, start_ns, end_ns;
};

enum gv_stall_statement {
#define GV_STALL_STATEMENT(name, sql) GV_STALL_##name,
#include "report/analyse/stalls/statements.def"
    GV_STALL_STATEMENT_COUNT
};

struct gv_stall_replay;

struct gv_stall_launch {
    int64_t call, stream, start_ns;
};

struct gv_stall_run {
    sqlite3 *trace;
    sqlite3_stmt *statements[GV_STALL_STATEMENT_COUNT];
    /* by row number; the counts are one more than the highest */
    struct gv_stall_process *processes;
    struct gv_stall_api *apis;
    struct gv_stall_stream *streams;
    struct gv_stall_kernel *kernels;
    struct gv_stall_place *places;
    int64_t *threads; /* -> process */
    int64_t *shapes;  /* -> local_bytes */
    bool *modules;    /* whether its code is put onto the GPU when it is loaded */
    size_t process_count, api_count, stream_count, kernel_count, place_count, thread_count,
        shape_count, context_count, module_count;
    struct gv_stall_zone *zones;
    size_t zone_count, zone_room;
    bool any_measured, any_jit;
    struct gv_stall_judge judge;
    /* the chunk */
    struct gv_stall_call *calls;
    size_t call_count;
    struct gv_stall_replay *replay;
    int64_t next_id; /* of a row of stall */
};

/* report/analyse/stalls/analysis.c: the small tables alone; 0 or -errno. To be closed in any case.
 */
int gv_stall_run_open(struct gv_stall_run *run, sqlite3 *trace);
void gv_stall_run_close(struct gv_stall_run *run);
/* What follows from a call's stream and kernel. */
void gv_stall_call_complete(const struct gv_stall_run *run, struct gv_stall_call *call);
/* The statement, reset; NULL: see *error. */
sqlite3_stmt *gv_stall_statement(struct gv_stall_run *run, enum gv_stall_statement statement,
                                 int *error);
int gv_stall_execute(sqlite3 *trace, const char *sql);
/* -errno of the last step's result. */
int gv_stall_error(sqlite3 *trace, int result);
/* array[row], or NULL for a row that there is none of. */
#define GV_STALL_ROW(array, count, row)                                                            \
    ((row) > 0 && (uint64_t)(row) < (count) ? &(array)[row] : NULL)

/* A time or duration of a file that may say anything: such that sums of them cannot overflow. */
static inline int64_t gv_stall_ns(sqlite3_stmt *row, int column)
{
    const int64_t most = INT64_C(1) << 60;
    int64_t ns = sqlite3_column_int64(row, column);

    return ns > most ? most : ns < -most ? -most : ns;
}
static inline int64_t gv_stall_duration(sqlite3_stmt *row, int column)
{
    int64_t ns = gv_stall_ns(row, column);

    return ns < 0 ? 0 : ns;
}

/* report/analyse/stalls/measured.c: once; then for each chunk: what the GPU did meanwhile. */
int gv_stall_measure_open(struct gv_stall_run *run);
int gv_stall_measure_chunk(struct gv_stall_run *run);

/* report/analyse/stalls/inferred.c: what was on the GPU, from the calls alone. */
int gv_stall_infer_chunk(struct gv_stall_run *run);
void gv_stall_infer_close(struct gv_stall_run *run);
/* The same now, from the process's last calls and operations: the first launch of those of which no
 * end is known, and how many they are. */
int gv_stall_infer_now(struct gv_stall_run *run, int64_t process, struct gv_stall_launch *first,
                       int64_t *count);
/* What that leaves for a call that begins now. */
void gv_stall_infer(const struct gv_stall_run *run, struct gv_stall_call *call);

/* report/analyse/stalls/advice.c: gives every stall that has none its advice. */
int gv_stall_advise(struct gv_stall_run *run);

#endif
