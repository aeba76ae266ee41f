/* Shared by the parts of report/analyse/totals while the sums are made. */
#ifndef GV_ANALYSE_TOTALS_RUN_H
#define GV_ANALYSE_TOTALS_RUN_H

#include "report/analyse/lines/pass.h"
#include "report/analyse/names/places.h"
#include "report/analyse/gpu_unseen.h"
#include "report/analyse/ranges/pass.h"
#include "report/analyse/ranges/totals.h"
#include "report/analyse/scaled/scaled.h"
#include "report/analyse/steps/steps.h"
#include "report/analyse/stopped.h"
#include "report/pass/pass.h"
#include "report/store/time_sum.h"
#include "report/analyse/totals/duration_total.h"
#include "report/analyse/totals/graphs.h"
#include "report/analyse/totals/memory_log.h"
#include "report/analyse/totals/part.h"
#include "report/analyse/totals/timeline_lane.h"
#include "report/store/id_table.h"

#include <stddef.h>

/* GV_GPU_COPY_KIND is smaller. */
#define GV_TOTALS_COPY_KINDS 256u
#define GV_TOTALS_DIRECTIONS 16u
#define GV_TOTALS_DEVICES    64u
#define GV_TOTALS_LANES      8u
#define GV_TOTALS_ERRORS     256u
/* Launches that an operation finds. */
#define GV_TOTALS_STARTS (1u << 16)

/* Classes of calls that are distinguished; others are 0. */
enum gv_totals_class {
    GV_TOTALS_OTHER,
#define GV_TOTALS_CLASS(name, text, fact) GV_TOTALS_##name,
#include "report/analyse/totals/classes.def"
    GV_TOTALS_CLASSES
};

struct gv_totals_device {
    int64_t device; /* a row of table device, or 0 */
    int64_t operations, first_ns, last_ns, busy_ns, kernel_ns, copy_ns;
    int64_t until_ns, kernel_until_ns, copy_until_ns; /* covered so far */
    int64_t host_copy_until_ns;
    struct gv_totals_known {
        int64_t busy_ns, kernel_ns, copy_ns;
        int64_t host_copy_ns; /* between host and device */
    } known;                  /* the same while the GPU side is known */
};

struct gv_totals_kernel {
    struct gv_duration_total time;
    int64_t shape;  /* the last shape seen */
    int64_t shapes; /* number of changes; 1: a single shape */
    int64_t device; /* a row of table device */
};

struct gv_totals_run {
    sqlite3 *trace;
    struct gv_totals_part part;
    struct gv_pass *pass;
    /* When the GPU side of a selected process is not known: in order, without overlaps. The last of
     * these times may never end. */
    struct gv_totals_unseen {
        int64_t start_ns, end_ns;
    } * unseen;
    size_t unseen_count, unseen_room;
    struct gv_gpu_unseen_list unseen_times; /* the same by process */
    struct gv_stopped stopped;
    struct gv_recorded recorded; /* in the part of the trace */
    int64_t stopped_ns;          /* between the first and the last call */
    struct gv_id_table threads;  /* process */
    struct gv_id_table blocking; /* by id of the process: whether it has CUDA_LAUNCH_BLOCKING=1 */
    struct gv_id_table apis;     /* enum gv_totals_class; whether it is NCCL's; begins or ends a
                                    capture; enum gv_gpu_work */
    struct gv_id_table places;   /* process, device, number of the device + 1, multiprocessors */
    struct gv_id_table shapes;   /* rank of the name, blocks, name */
    struct gv_id_table starts;   /* by id of the api: whether it starts CUDA */
    struct gv_id_table memory;   /* by id of the api: enum gv_memory_space */
    struct gv_id_table contexts, streams; /* handle, number of the device; context */
    struct gv_id_table kernel_ids;

    struct gv_totals_api {
        struct gv_duration_total time;
        int64_t errors, bytes;
    } * api_sums; /* by id of the api */
    struct gv_totals_thread {
        int64_t count, total_ns; /* in calls */
        int64_t first_ns, last_ns;
        int64_t context;                    /* handle of the context where it last worked */
        int64_t refused_api, refused_bytes; /* its largest allocation that failed, and was not
                                               repeated with success since; 0: none */
        bool captures;                      /* what it launches becomes part of a graph */
    } * thread_times;                       /* by id of the thread */
    int64_t class_ns[GV_TOTALS_CLASSES], class_count[GV_TOTALS_CLASSES];
    int64_t calls, first_ns, last_ns, launched_kernels, launch_failed;
    int64_t captured_launches, graph_launches;
    int64_t blocking_launches, blocking_ns;
    int64_t refused, refused_call; /* allocations for which there was no memory, and the last one */
    bool spans;                    /* first_ns and last_ns are set */
    struct gv_totals_launches {
        int64_t count, total_ns;
    } * launches; /* by id of the kernel */
    struct gv_totals_error {
        int64_t api, result, count;
    } errors[GV_TOTALS_ERRORS];
    size_t error_count;
    sqlite3_stmt *memory_add;
    struct gv_memory_log memory_log;
    struct gv_places stack_places;

    struct gv_totals_kernel *kernels; /* by rank of the name */
    size_t kernel_count;
    struct gv_duration_total copies[GV_TOTALS_COPY_KINDS], sets, latency;
    struct gv_duration_total directions[GV_TOTALS_DIRECTIONS]; /* the copies, whatever the memory */
    int64_t copy_bytes[GV_TOTALS_COPY_KINDS], set_bytes;
    double filled_ns; /* time of kernels, times the share of the device that they filled */
    int64_t graphs, graph_time_ns; /* launched whole */
    int64_t operations, found_operations, untimed, kernel_time_ns, underfilled_ns, blocks_known_ns;
    struct gv_totals_device devices[GV_TOTALS_DEVICES];
    size_t device_count;
    struct gv_totals_place {
        int64_t launched_ns; /* launch of the first one without times */
        bool untimed;
    } * place_times; /* by id of the place */
    struct gv_totals_start {
        int64_t call, start_ns;
    } starts_of[GV_TOTALS_STARTS]; /* by id: when the last calls began */

    int64_t first_starting, last_starting; /* ids of calls that start CUDA; 0: none */
    int64_t start_ns, loads, loading_ns, compiling_ns;

    struct gv_graph_totals nodes_of_graphs;
    struct gv_lines *lines;
    struct gv_scaled *scaled; /* NULL: no call was measured */
    struct gv_scaled_sums sampled;
    struct gv_range_totals *ranges;   /* NULL: the trace has none */
    struct gv_steps *steps;           /* NULL: none were found */
    struct gv_range_pass *range_pass; /* NULL: nobody wants it */

    struct gv_lane busy[GV_TOTALS_LANES], copying, waiting, loading;
};

/* report/analyse/totals/unseen.c: when the GPU side is not known: from the first operation that had
 * not ended, too; after gv_totals_untimed. */
int gv_totals_unseen(struct gv_totals_run *run);
/* The first of these times that ends after `at_ns`; NULL: none. */
const struct gv_totals_unseen *gv_totals_unseen_after(const struct gv_totals_run *run,
                                                      int64_t at_ns);
/* The part of [start_ns, end_ns) in which the GPU side is not known. */
int64_t gv_totals_unseen_ns(const struct gv_totals_run *run, int64_t start_ns, int64_t end_ns);
/* From when on it is never known again; INT64_MAX: it is known to the end. */
int64_t gv_totals_known_until(const struct gv_totals_run *run);
/* report/analyse/totals/gpu.c: operations that have not ended. */
int gv_totals_untimed(struct gv_totals_run *run);
/* An operation with its times: the sums, and what else wants it; after gv_totals_unseen. */
int gv_totals_operation(void *context, const struct gv_pass_operation *operation);
/* report/analyse/totals/busy.c: when the devices were busy. */
/* Returns how long it is known to have been idle before the operation. */
int64_t gv_totals_busy(struct gv_totals_run *run, const struct gv_pass_operation *op,
                       size_t device);
/* report/analyse/totals/calls.c: sums of the calls; then of what is in no table. */
int gv_totals_call(void *context, const struct gv_pass_call *call);
int gv_totals_calls_end(struct gv_totals_run *run);
/* Whether it counts for the part. */
bool gv_totals_takes(const struct gv_totals_run *run, const struct gv_pass_call *call);
/* How much of it all was recorded; after gv_totals_calls_end. */
int gv_totals_recorded(struct gv_totals_run *run);
/* report/analyse/totals/memory.c: takes each call, also outside of the part: where its thread
 * worked before, if known. Calls that allocate or end contexts go into the log, which is
 * replayed at the end. */
int gv_totals_memory_open(struct gv_totals_run *run);
int64_t gv_totals_memory_context(struct gv_totals_run *run, const struct gv_pass_call *call);
int gv_totals_memory_call(struct gv_totals_run *run, const struct gv_pass_call *call,
                          int64_t before);
int gv_totals_memory_end(struct gv_totals_run *run);
/* Takes each call that allocates; and how many threads did not get what they had asked for. */
void gv_totals_memory_refused(struct gv_totals_run *run, const struct gv_pass_call *call);
int64_t gv_totals_memory_still_refused(const struct gv_totals_run *run);
/* report/analyse/totals/first_use.c: starting CUDA, loading and compiling; after
 * gv_totals_calls_end. */
int gv_totals_first_use(struct gv_totals_run *run);
/* report/analyse/totals/medians.c: reads everything a second time, for exact medians. */
int gv_totals_medians(struct gv_totals_run *run);
/* report/analyse/totals/store.c: writes the (empty) tables. */
int gv_totals_store(struct gv_totals_run *run);

static inline bool gv_totals_in_part(const struct gv_totals_run *run, int64_t start_ns)
{
    return start_ns >= run->part.from_ns && start_ns < run->part.to_ns;
}

/* The part of [start_ns, end_ns), which is not negative, in which the GPU side is known. */
static inline int64_t gv_totals_known_ns(const struct gv_totals_run *run, int64_t start_ns,
                                         int64_t end_ns)
{
    return end_ns - start_ns - (run->unseen_count ? gv_totals_unseen_ns(run, start_ns, end_ns) : 0);
}

/* The kernel of a shape, by name; all those without a name are the first. */
static inline struct gv_totals_kernel *gv_totals_kernel_of(const struct gv_totals_run *run,
                                                           int64_t shape)
{
    size_t rank = (size_t)gv_id_table_get(&run->shapes, shape, 0);

    return &run->kernels[rank < run->kernel_count ? rank : 0];
}

static inline size_t gv_totals_copy_kind(int64_t copy_kind)
{
    return copy_kind > 0 && (uint64_t)copy_kind < GV_TOTALS_COPY_KINDS ? (size_t)copy_kind : 0;
}

/* The low bits give the direction: host or device, array or memory. */
static inline bool gv_totals_copy_is_with_host(int64_t copy_kind)
{
    return (copy_kind & 15) >= 1 && (copy_kind & 15) <= 4;
}

#endif
