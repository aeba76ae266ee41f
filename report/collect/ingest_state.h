/*
 * What the ingest of a process knows (report/collect/ingest.h), and what its parts do with it. All
 * return 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_STATE_H
#define GV_COLLECT_INGEST_STATE_H

#include "report/collect/correlate.h"
#include "report/collect/known.h"
#include "report/collect/live.h"
#include "report/collect/own_cost.h"
#include "report/collect/python_code.h"
#include "report/collect/unwind_time.h"
#include "report/store/row.h"
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
    struct {                            /* not inserted yet */
        struct gv_row_call rows[GV_ROW_BATCH];
        unsigned count;
    } calls;
    struct gv_spool_status status;  /* as last stored */
    struct gv_spool_status scanned; /* before the scan: everything that it reports is in it */
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

/* The thread of a segment. Valid until threads are forgotten. */
int gv_ingest_thread_of(struct gv_ingest *ingest, const struct gv_spool_view *view,
                        struct gv_ingest_thread **thread);

/* At the start of a scan: those that rest. */
int gv_ingest_threads_forget(struct gv_ingest *ingest);
void gv_ingest_threads_close(struct gv_ingest *ingest);

/* Inserts the calls that wait for a batch. Before the commit; after an error they are gone. */
int gv_ingest_calls_flush(struct gv_ingest *ingest);

/* What a thread wrote of one call, or of one event. */
int gv_ingest_group(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const union gv_record *records, size_t count);

/* report/collect/ingest_things.c */

/* What has this key; `row` of a table is added if it is new. */
int gv_ingest_intern(struct gv_ingest *ingest, struct gv_known *known, struct gv_key key,
                     enum gv_table table, const void *row, int64_t *id);
#define GV_INTERN(ingest, known, key, id, table, ...)                                              \
    gv_ingest_intern(ingest, &(ingest)->known, key, GV_TABLE_##table,                              \
                     &(const struct gv_row_##table){__VA_ARGS__}, id)

int gv_ingest_intern_api(struct gv_ingest *ingest, uint32_t number,
                         const struct gv_ingest_api **api);

/* *id is 0 for number or handle 0. */
int gv_ingest_intern_kernel(struct gv_ingest *ingest, uint32_t number, int64_t *id);
int gv_ingest_intern_module(struct gv_ingest *ingest, uint32_t number, int64_t *id);
int gv_ingest_intern_context(struct gv_ingest *ingest, uint64_t handle, int64_t *id);

/* The stream and context of a call, for the thread. */
int gv_ingest_intern_place(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                           const struct gv_ingest_api *api, const struct gv_record_call *call);

/* What another collector has stored of the process. */
int gv_ingest_things_resume(struct gv_ingest *ingest);

/* report/collect/ingest_process.c */

int gv_ingest_process_add(struct gv_ingest *ingest, const struct gv_spool_facts *facts);

/* Stores the losses and the driver's version, if they changed. */
int gv_ingest_status(struct gv_ingest *ingest);
/* Stores how the process ended, and its unfinished calls. `became_another`: by exec, and the
 * other program uses CUDA too. */
int gv_ingest_end(struct gv_ingest *ingest, bool became_another);
/* Stores the process's unfinished calls with their causes, or that there are none any more. */
int gv_ingest_flights(struct gv_ingest *ingest);
int gv_ingest_flights_clear(struct gv_ingest *ingest);

/* report/collect/ingest_gpu.c */

/* One record, with the text that follows it, or NULL; the process's state. */
int gv_ingest_gpu(struct gv_ingest *ingest, const union gv_record *record, const char *text);
int gv_ingest_gpu_status(struct gv_ingest *ingest, const struct gv_spool_status *now);
/* The process has ended: handles what was never seen, and what never found its call. */
int gv_ingest_gpu_end(struct gv_ingest *ingest, const struct gv_spool_status *status);
void gv_ingest_gpu_close(struct gv_ingest *ingest);

/* report/collect/ingest_control.c */

/* gpu_change has news from then on; a change; with the status, notes and what follows for the GPU
 * side; the process has ended; after the commit. */
void gv_ingest_changed(struct gv_ingest *ingest, int64_t at_ns);
int gv_ingest_change(struct gv_ingest *ingest, uint32_t number, uint64_t at_ns);
int gv_ingest_control(struct gv_ingest *ingest);
int gv_ingest_control_end(struct gv_ingest *ingest);
void gv_ingest_control_committed(struct gv_ingest *ingest);

/* report/collect/ingest_stacks.c */

/* What one group of records says of a stack. */
struct gv_ingest_stack {
    int64_t stack; /* row, whose Python frames follow; 0: none */
    int64_t depth; /* Python frames so far, with those that were left out */
    int64_t of_call;
    bool of_other;   /* and of an earlier call */
    uint32_t one_of; /* as in the record */
    uint64_t of_call_start_ns;
};

/* One record of a group about a stack. */
int gv_ingest_stack_part(struct gv_ingest *ingest, struct gv_ingest_stack *state,
                         const union gv_record *record);
/* The group's call has been stored. */
int gv_ingest_stack_of_call(struct gv_ingest *ingest, struct gv_ingest_stack *state, int64_t call,
                            uint64_t start_ns);
/* A code object's record has come: frames that were waiting for it get their names. */
int gv_ingest_stack_code(struct gv_ingest *ingest, uint32_t number);

/* The row of a stack with a number, which may come later. */
int gv_ingest_stack(struct gv_ingest *ingest, uint32_t number, int64_t *stack);

/* The unwinder of the process, with its objects as they are now; NULL: no memory. */
struct gv_unwinder *gv_ingest_stacks_unwinder(struct gv_ingest *ingest, uint32_t *generation);
/* The native frames of a chain, for a row that has its Python frames already. */
int gv_ingest_stacks_frames(struct gv_ingest *ingest, int64_t row, uint32_t generation,
                            const struct gv_unwind_chain *chain);

/* Whether an address lies in a Python interpreter. */
bool gv_ingest_stacks_is_interpreter(struct gv_ingest *ingest, uint32_t generation,
                                     uint64_t address);

/* After the commit: copies that were read are cleared. */
void gv_ingest_stacks_committed(struct gv_ingest *ingest);
void gv_ingest_stacks_close(struct gv_ingest *ingest);

/* report/collect/ingest_idle.c */

/* A sample, whose text may be NULL. The process has ended: finds the threads that its samples still
 * lack. */
int gv_ingest_idle(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                   const char *text);
int gv_ingest_idle_end(struct gv_ingest *ingest);
void gv_ingest_idle_close(struct gv_ingest *ingest);

/* report/collect/ingest_ranges.c */

/* `text` may be NULL. */
int gv_ingest_range_text(struct gv_ingest *ingest, uint32_t number, const char *text);
int gv_ingest_range(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                    const struct gv_record_range *range, const char *text);
int gv_ingest_range_end(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                        const struct gv_record_range_end *end);
/* The ranges that a thread is in, when it becomes known; the range of a call, if it is not that of
 * the thread's last one. */
void gv_ingest_range_thread(const struct gv_ingest *ingest, struct gv_ingest_thread *thread);
int gv_ingest_range_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread, int64_t call);
/* What a collector that resumes a process must know of it. */
int gv_ingest_ranges_resume(struct gv_ingest *ingest);
void gv_ingest_ranges_close(struct gv_ingest *ingest);

/* report/collect/ingest_delay.c */

/* The group of a call has such a record; `id` is the call's row. */
int gv_ingest_delay_call(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                         const struct gv_record_run_delay *record,
                         const struct gv_record_call *call, int64_t id);

/* Reads how long threads in calls have waited for a CPU. Call it repeatedly while the process
 * lives. */
void gv_ingest_delay_look(struct gv_ingest *ingest, uint32_t pid);

/*
 * The least time for which a thread waited for a CPU inside a call, from readings at other times.
 * All times are of one clock, and may be anything. The call was [start_ns, end_ns]; `end` was read
 * after it. `earlier` was read before it, or NULL. `inside_ns` was read by another process during
 * the call, or UINT64_MAX. Time between two readings outside of the call counts as waiting, so the
 * result is never too large.
 */
uint64_t gv_ingest_delay_least(uint64_t start_ns, uint64_t end_ns,
                               const struct gv_delay_reading *end,
                               const struct gv_delay_reading *earlier, uint64_t inside_ns);

#endif
