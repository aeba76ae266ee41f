/*
 * What a run was, in numbers: read from the sums (report/analyse/totals/totals.h) and the small
 * tables of an open trace. The verdict and the report's head are made of it.
 */
#ifndef GV_ANALYSE_VERDICT_RUN_FACTS_H
#define GV_ANALYSE_VERDICT_RUN_FACTS_H

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/totals/totals.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define GV_FACTS_TEXT_BYTES 256

struct gv_run_facts {
    /* as in the table fact */
#define GV_RUN_FACT(name) int64_t name;
#include "report/analyse/verdict/run_facts.def"
    int64_t window_ns; /* from the first call's start to the last one's end */
    int64_t known_ns;  /* the part of it in which the GPU's side is known */

    int64_t processes, threads;
    int64_t seen_processes, unseen_processes; /* whose GPU side was seen, or known not to be */
    bool gpu_seen;     /* of all processes: what is not there up to known_ns did not happen */
    bool gpu_whole;    /* and that is all of the window, without losses */
    bool complete;     /* the trace is finished */
    int64_t simulated; /* some device is */
    bool whole;        /* not a part of the trace */

    /* all devices together, in known_ns, and the one that was busiest */
    int64_t devices_used, busiest_ns, busy_ns, kernel_ns, copied_ns;
    int64_t seen_kernel_ns; /* also after known_ns: how kernels were does not depend on what is
                               missing */
    int64_t multiprocessors;
    char device[GV_FACTS_TEXT_BYTES];

    int64_t kernel_names, kernels_run;
    int64_t launch_median_ns, least_blocks;
    char top_kernel[GV_KERNEL_NAME_LONG];

    int64_t copies, copied_bytes, pageable_bytes, pinned_bytes; /* between host and device */
    int64_t copy_stack;                   /* of the copies that took longest; 0: not known */
    char copy_where[GV_FACTS_TEXT_BYTES]; /* the line of it */

    int64_t gap_call_ns; /* in the longest gaps, the call that the host was in most */
    char gap_call[GV_FACTS_TEXT_BYTES];

    /* unexpected ones; those that waited: what waits at the same time loses that time once */
    int64_t stalls, stall_ns, waits, wait_ns;
    /* Of the stalls, but not of these waits: time in which threads had no processor, and what is
     * not explained. */
    int64_t delays, delay_ns, unknowns, unknown_ns;
    int64_t unsure_ns;   /* of wait_ns, all threads added up: may be compiling, too */
    int64_t wait_jit_ns; /* what calls compiled for that waited, too */
    int64_t top_stall_ns, top_stall_count; /* of the cause that most was lost to */
    char top_stall[GV_FACTS_TEXT_BYTES];

    int64_t sync_flights; /* calls in flight that wait as asked: sync_ns is without them */
    int64_t in_flight, lost, gpu_lost, operations_lost, failed, killed; /* killed: processes */
    int64_t launches_missing; /* in gpu_lost: succeeded, and never seen on the GPU */
    int64_t full, gpu_full;   /* of lost: what found shared memory full; of it, the GPU's */
    char failed_most[GV_FACTS_TEXT_BYTES]; /* the call that failed most often */
    int64_t load_failed, copy_failed;      /* of load_calls and copy_calls */
    int64_t init_result;                   /* of an initialisation that failed, when none worked */
    int64_t launch_result;                 /* with which most launches failed that did */
    char launch_failed_most[GV_FACTS_TEXT_BYTES]; /* the call */
    int64_t flight_ns, flight_running;
    char flight[GV_FACTS_TEXT_BYTES]; /* the longest call that its process's end cut short, or that
                                         goes on */
};

/* The time of all devices that were used, together: what busy_ns is a part of. */
int64_t gv_run_facts_device_ns(const struct gv_run_facts *facts);
/* How long the thread that was in CUDA calls most was outside of them; whether the host was in them
 * for most of the time in which the devices had nothing to do. */
int64_t gv_run_facts_outside_ns(const struct gv_run_facts *facts);
bool gv_run_facts_idle_in_calls(const struct gv_run_facts *facts);
/* What part of the time of kernels and graphs was that of kernels with fewer blocks than
 * multiprocessors, and how much of the device the kernels of which that is known filled. */
double gv_run_facts_underfilled(const struct gv_run_facts *facts);
double gv_run_facts_filled(const struct gv_run_facts *facts);
/* Launches were made, all of them failed, and nothing ran. */
bool gv_run_facts_launches_failed(const struct gv_run_facts *facts);
/* Launches were made, and it is known that the GPU finished none of them. */
bool gv_run_facts_not_run(const struct gv_run_facts *facts);

/* 0 or -errno. */
int gv_run_facts_read(sqlite3 *trace, const struct gv_totals_part *part,
                      struct gv_run_facts *facts);

#endif
