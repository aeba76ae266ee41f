/*
 * From a spool's records to the trace's rows, each exactly once.
 *
 * How many records of a thread are in the trace is stored with the rows themselves, in one
 * transaction; a collector that takes over from a killed one goes on from there. What is known here
 * in memory mirrors the database: after a rollback, or when another program has written to the
 * trace, everything has to be closed and opened anew.
 *
 * All functions but open and close run inside a transaction of the caller's. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_H
#define GV_COLLECT_INGEST_H

#include "report/collect/call_batch.h"
#include "report/collect/correlate.h"
#include "report/collect/known.h"
#include "report/store/database.h"
#include "trace/call_table.h"
#include "trace/spool_reader.h"

#include <stdbool.h>

/* Read between two times, by the thread itself: it was running. */
struct gv_delay_reading {
    uint64_t after_ns, before_ns;
    uint64_t delay_ns; /* since the thread began */
};

struct gv_ingest_pending_load {
    int64_t load;
    uint64_t outer_start_ns;
};

struct gv_ingest_thread {
    uint64_t serial;
    int64_t id;
    uint64_t position; /* records of the thread that are in the trace, or skipped for good */
    uint64_t stored_position;
    char name[GV_SPOOL_COMM_BYTES];
    bool awake; /* it has a segment: known inside gv_ingest_forget_threads() only */
    /* loads whose outermost call has not been seen yet */
    struct gv_ingest_pending_load *pending;
    uint32_t pending_count;
    uint32_t pending_room;
    /* the last call's place: most calls of a thread go where the one before went */
    bool place_known;
    bool place_per_thread;
    uint8_t place_flags;
    uint64_t place_stream;
    uint64_t place_context;
    int64_t stream;  /* row; 0: none */
    int64_t context; /* row, where the stream does not say it; 0: none */
    uint32_t kernel_number;
    int64_t kernel;
    struct gv_delay_reading delay; /* its last; before_ns 0: none */
};

/* How long a thread had waited for a processor, read while it was in a call. */
struct gv_delay_sight {
    uint64_t thread, call_start_ns;
    uint64_t delay_ns;
};
#define GV_DELAY_SIGHTS 256u

/* A segment's number, in lists that are handed back after the commit. */
struct gv_ingest_segments {
    uint32_t *list;
    size_t count;
    size_t room;
};

/* What the process's calls started on its GPUs, and what came of it. */
struct gv_ingest_work {
    uint64_t asked[GV_GPU_WORKS]; /* calls that succeeded */
    uint64_t launched;            /* operations, kernels and whole graphs */
    uint64_t moves_until_ns;      /* when the last copy or set returned, of the session's clock */
};

struct gv_ingest {
    struct gv_database *database;
    struct gv_spool_reader *reader;
    int64_t *next_call; /* shared by all processes of the trace */
    int64_t process;    /* row */
    uint64_t epoch_ns;
    int64_t *apis; /* row of each call's name, 0: not looked up yet; one more for unknown ones */
    int8_t *per_thread;                    /* whether stream 0 is the thread's own in this call */
    const struct gv_call_kind_row **kinds; /* what each call means */
    struct gv_known places;                /* contexts and streams */
    struct gv_known kernels;
    struct gv_known modules;
    struct gv_known gpu_names; /* numbers that the GPU's side gave -> rows */
    struct gv_known gpu_shapes;
    struct gv_known gpu_places; /* device, context, stream -> row */
    struct gv_correlate correlate;
    struct gv_ingest_work work;
    bool inherited; /* another collector has stored part of this process: not in `work` */
    bool resumed;   /* calls of this process are in the trace that `correlate` knows nothing of */
    /* threads that records come of */
    struct gv_key_map threads; /* serial -> index + 1 */
    struct gv_ingest_thread *thread_list;
    size_t thread_count;
    size_t thread_room;
    size_t thread_most;      /* with as many, those that are at rest are forgotten */
    struct gv_known resting; /* serial -> row: they may have gone, or record again */
    /* the scan that is under way */
    struct gv_spool_view *views;
    size_t view_count;
    size_t view_room;
    size_t view_next;
    struct gv_ingest_thread *current;
    bool waits; /* the current thread, for a segment that the scan did not see */
    /* records of a group that is not complete yet */
    union gv_record *group;
    size_t group_count;
    size_t group_room;
    struct gv_ingest_segments held;     /* read, but their last group goes on elsewhere */
    struct gv_ingest_segments consumed; /* to give back after the commit */
    struct gv_call_batch calls;         /* not inserted yet */
    struct gv_spool_status status;      /* as last stored */
    struct gv_spool_status scanned;     /* before the scan: what it tells of is all in it */
    bool status_stored;
    /* the calls that the process is in */
    uint64_t seen_ns; /* when it was last looked at, of the session's clock; 0: unknown */
    struct gv_delay_sight delay_sights[GV_DELAY_SIGHTS];
    size_t delay_sight_next;
    uint64_t flights_shape; /* tells one set of calls from another; 0: none is stored */
};

/* Finds the spool's process in the trace, or adds it. */
int gv_ingest_open(struct gv_ingest *ingest, struct gv_database *database,
                   struct gv_spool_reader *reader, int64_t *next_call);
void gv_ingest_close(struct gv_ingest *ingest);

/* Looks which segments there are to read. No transaction needed. */
int gv_ingest_scan(struct gv_ingest *ingest);
/* Stores about `limit` records of them. *done: the scan is used up. With `final`, for a process
 * that is gone, groups that were never completed are stored too. *stored is counted up. */
int gv_ingest_step(struct gv_ingest *ingest, size_t limit, bool final, bool *done, size_t *stored);
/* To be called after the commit: gives segments back to the process. */
void gv_ingest_committed(struct gv_ingest *ingest);

/* Stores what was lost, and the driver's version, if they changed. */
int gv_ingest_status(struct gv_ingest *ingest);
/* Stores how the process ended, and the calls it was in. `became_another`: by exec, and the other
 * program uses CUDA too. */
int gv_ingest_end(struct gv_ingest *ingest, bool became_another);
/* Stores the calls that the process is in now, with why; or that it is in none any more. */
int gv_ingest_flights(struct gv_ingest *ingest);
int gv_ingest_flights_clear(struct gv_ingest *ingest);

/* Looks how long threads that are in a call have waited for a processor so far: to be called again
 * and again while the process lives. */
void gv_ingest_delay_look(struct gv_ingest *ingest, uint32_t pid);

/*
 * How long a thread was ready to run inside a call, and did not, at least: from what the kernel
 * said of it at other times. All times of one clock; they may be anything.
 * The call was [start_ns, end_ns]; `end` was read behind it. `earlier`: read before it, or NULL.
 * `inside_ns`: what was read by another process while the thread was in the call, or UINT64_MAX.
 * Time between two readings that is not the call's counts as waiting. So the result is never too
 * large.
 */
uint64_t gv_ingest_delay_least(uint64_t start_ns, uint64_t end_ns,
                               const struct gv_delay_reading *end,
                               const struct gv_delay_reading *earlier, uint64_t inside_ns);

/* What the GPU's side tells (report/collect/ingest_gpu.c): one record, whether text follows it,
 * what the process says of it. */
int gv_ingest_gpu(struct gv_ingest *ingest, const union gv_record *record, const char *text);
bool gv_ingest_gpu_has_text(const union gv_record *record, uint32_t *bytes);
int gv_ingest_gpu_status(struct gv_ingest *ingest, const struct gv_spool_status *now);
/* The process is gone: what was never seen, and what never met its call. */
int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status);
int gv_ingest_gpu_load_all(struct gv_ingest *ingest);
void gv_ingest_gpu_close(struct gv_ingest *ingest);

/* For report/collect/ingest_gpu.c: calls `add` for each row of a statement that takes the process;
 * an `add` for rows of a row's id and a number; a time of the trace. */
typedef int gv_ingest_row(struct gv_ingest *ingest, sqlite3_stmt *row, struct gv_known *into);
int gv_ingest_each(struct gv_ingest *ingest, enum gv_statement statement, gv_ingest_row *add,
                   struct gv_known *into);
gv_ingest_row gv_ingest_load_number;
int64_t gv_ingest_time(const struct gv_ingest *ingest, uint64_t clock_ns);

#endif
