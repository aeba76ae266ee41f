/*
 * What the ingest of a process knows (report/collect/ingest.h): its parts share it.
 */
#ifndef GV_COLLECT_INGEST_STATE_H
#define GV_COLLECT_INGEST_STATE_H

#include "report/collect/call_batch.h"
#include "report/collect/correlate.h"
#include "report/collect/known.h"
#include "report/collect/live.h"
#include "report/collect/own_cost.h"
#include "report/collect/python_code.h"
#include "report/collect/unwind_time.h"
#include "report/store/database.h"
#include "report/unwind/unwind.h"
#include "trace/call_table.h"
#include "trace/spool_reader.h"

#include <stdbool.h>

/* Python frames come between the native ones inside the interpreter's calls and those around it.
 * Each native one has room for 64 inlined functions. */
#define GV_INGEST_PYTHON_DEPTH 20000
#define GV_INGEST_OUTER_DEPTH  21000

/* Read between two times by the running thread itself. */
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
    uint32_t tid;
    int64_t id;
    uint64_t position; /* records of the thread that are in the trace, or skipped for ever */
    uint64_t stored_position;
    char name[GV_SPOOL_COMM_BYTES];
    bool awake; /* it has a segment; valid only while idle threads are forgotten */
    /* loads whose outermost call has not come yet */
    struct gv_ingest_pending_load *pending;
    size_t pending_count;
    size_t pending_room;
    /* stream and context of the last call: most calls of a thread use the same ones */
    bool place_known;
    bool place_per_thread;
    uint8_t place_flags;
    uint64_t place_stream;
    uint64_t place_context;
    int64_t stream;  /* row; 0: none */
    int64_t context; /* row, if the stream does not determine it; 0: none */
    uint32_t kernel_number;
    int64_t kernel;
    struct gv_delay_reading delay; /* the last reading; before_ns 0: none */
    int64_t range;                 /* the innermost push; 0: none */
    int64_t stored_range;          /* the one that the last call was in; -1: not known */
};

/* How long a thread had waited for a CPU, read during a call. */
struct gv_delay_sight {
    uint64_t thread, call_start_ns;
    uint64_t delay_ns;
};
#define GV_DELAY_SIGHTS 256u

/* A segment's number, in lists to give back after the commit. */
struct gv_ingest_segments {
    uint32_t *list;
    size_t count;
    size_t room;
};

/* What the process's calls started on its GPUs, and what was seen of it. */
struct gv_ingest_work {
    uint64_t asked[GV_GPU_WORKS]; /* successful calls */
    uint64_t launched;            /* operations, kernels and whole graphs */
    uint64_t moves_until_ns;      /* when the last copy or set returned, of the session's clock */
};

/* A range that has not ended, of the process. */
struct gv_open_range {
    int64_t row;
    int64_t thread, domain; /* rows; domain 0: none */
    bool is_start;          /* it ends with its id, not with a pop */
    uint64_t id;
    int64_t start_ns;
    int64_t depth;
};

/* The end of a range whose begin has not come yet: another thread wrote that. */
struct gv_early_end {
    uint64_t id;
    int64_t at_ns;
};

struct gv_ingest_ranges {
    bool pushed;                /* the process was in a range */
    struct gv_known texts;      /* number -> row */
    struct gv_open_range *open; /* in the order of storage */
    size_t open_count, open_room;
    struct gv_early_end *ends;
    size_t ends_count, ends_room;
};

/* A hooked call of the process. */
struct gv_ingest_api {
    int64_t row;     /* 0: not looked up yet */
    bool per_thread; /* stream 0 is the thread's own */
    const struct gv_call_kind_row *kind;
    struct gv_live_api live;
};

struct gv_ingest {
    struct gv_database *database;
    struct gv_spool_reader *reader;
    int64_t *next_call; /* shared by all processes of the trace */
    int64_t process;    /* row */
    uint64_t epoch_ns;
    struct gv_ingest_api *apis; /* by number; the last is for unknown ones */
    struct gv_known places;     /* contexts and streams */
    struct gv_known kernels;
    struct gv_known modules;
    struct gv_known gpu_names; /* numbers of the GPU side -> rows */
    struct gv_known gpu_shapes;
    struct gv_known gpu_places; /* device, context, stream -> row */
    struct gv_correlate correlate;
    struct gv_ingest_ranges ranges;
    struct gv_ingest_work work;
    struct gv_process_cost cost;
    struct gv_live_process live;
    bool inherited; /* another collector stored a part of this process, which is not in `work` */
    bool resumed;   /* the trace has calls of this process that `correlate` does not know */
    bool final;     /* the process has ended, or is another program now */
    struct gv_ingest_stacks *stacks; /* report/collect/ingest_stacks.c; NULL: none yet */
    struct gv_ingest_idle *idle;     /* report/collect/ingest_idle.c; NULL: none yet */
    struct gv_unwind_time unwind_time;
    struct gv_python_codes python_codes;
    bool looks;      /* it has samples, */
    bool late_looks; /* and some whose thread had no row yet */
    /* threads with records */
    struct gv_key_map threads; /* serial -> index + 1 */
    struct gv_ingest_thread *thread_list;
    size_t thread_count;
    size_t thread_room;
    size_t thread_most;      /* with this many, resting ones are forgotten */
    struct gv_known resting; /* serial -> row: ended or resting threads */
    /* the current scan */
    struct gv_spool_view *views;
    size_t view_count;
    size_t view_room;
    size_t view_next;
    struct gv_ingest_thread *current;
    bool waits; /* the current thread, for a segment that the scan missed */
    /* records of an incomplete group */
    union gv_record *group;
    size_t group_count;
    size_t group_room;
    struct gv_ingest_segments held;     /* read, but their last group continues elsewhere */
    struct gv_ingest_segments consumed; /* to give back after the commit */
    struct gv_call_batch calls;         /* not inserted yet */
    struct gv_spool_status status;      /* as last stored */
    struct gv_spool_status scanned;     /* before the scan: everything that it reports is in it */
    bool status_stored;
    int64_t changed_ns; /* recording_change or gpu_note has news for gpu_change from then on */
    bool knows_first;   /* recording_change has the first change */
    uint32_t notes;     /* a bit for each stored one, to give back after the commit */
    /* the calls that the process is in */
    uint64_t seen_ns; /* when it was last looked at, of the session's clock; 0: unknown */
    struct gv_delay_sight delay_sights[GV_DELAY_SIGHTS];
    size_t delay_sight_next;
    uint64_t flights_shape; /* a hash of a set of calls; 0: none is stored */
};

/* A time of the trace. */
static inline int64_t gv_ingest_time(const struct gv_ingest *ingest, uint64_t clock_ns)
{
    return (int64_t)(clock_ns - ingest->epoch_ns);
}

/* The thread of a segment. Valid until threads are forgotten. 0 or -errno. */
int gv_ingest_thread_of(struct gv_ingest *ingest, const struct gv_spool_view *view,
                        struct gv_ingest_thread **thread);

/* At the start of a scan: those that rest. */
int gv_ingest_threads_forget(struct gv_ingest *ingest);
void gv_ingest_threads_close(struct gv_ingest *ingest);

/* What a thread wrote of one call, or of one event. 0 or -errno. */
int gv_ingest_group(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const union gv_record *records, size_t count);

#endif
