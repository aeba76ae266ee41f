/*
 * A run in numbers, from the sums (report/analyse/totals/totals.h) and the small tables of an open
 * trace. Its facts and the report's head use them.
 */
#ifndef GV_ANALYSE_FACTS_RUN_FACTS_H
#define GV_ANALYSE_FACTS_RUN_FACTS_H

#include "report/analyse/jobs/late.h"
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/minutes/minutes.h"
#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define GV_FACTS_TEXT_BYTES 256

struct gv_run_facts {
    /* as in the table fact */
#define GV_RUN_FACT(name) int64_t name;
#include "report/analyse/facts/run_facts.def"
    int64_t window_ns; /* from the first call's start to the last one's end, as far as recorded */
    int64_t known_ns;  /* the part in which the GPU side is known */
    bool known_first;  /* it is the first part */

    int64_t lived_ns; /* from the first process's start to the last one's end */

    int64_t processes, first_process, threads;
    int64_t seen_processes, unseen_processes; /* whose GPU side was recorded, or known not to be */
    bool gpu_seen;       /* of all processes: what is missing in known_ns did not happen */
    bool gpu_whole;      /* and known_ns is the whole window, without losses */
    bool complete;       /* the trace is finished, and no snapshot */
    int64_t snapshot_ns; /* until when; 0: it is no snapshot */
    int64_t simulated;   /* at least one device is */
    bool stopped;        /* recording was, for a part of the run */
    bool whole;          /* the whole run: not a part of the trace, and never stopped */
    char
        ranges[GV_FACTS_TEXT_BYTES]; /* of the calls: as gv_range_choice_say() has it; empty: any */

    /* all devices together, in known_ns */
    int64_t devices_used, busy_ns, kernel_ns, copied_ns;
    int64_t seen_kernel_ns; /* also outside of known_ns: missing kernels do not matter */
    char device[GV_FACTS_TEXT_BYTES];

    int64_t kernel_names, kernels_run;
    char top_kernel[GV_KERNEL_NAME_LONG];

    int64_t copies, copied_bytes; /* between host and device */

    int64_t stalls, stall_ns; /* unexpected ones */

    int64_t sync_flights; /* unfinished requested waits, which sync_ns lacks */
    int64_t in_flight, lost, gpu_lost, operations_lost, failed, killed; /* killed: processes */
    int64_t launches_missing; /* in gpu_lost: succeeded, but never seen on the GPU */
    int64_t full, gpu_full;   /* of lost: shared memory was full; the GPU's part of it */
    char failed_most[GV_FACTS_TEXT_BYTES]; /* the call that failed most often */
    int64_t load_failed, copy_failed;      /* of load_calls and copy_calls */
    int64_t init_result;   /* result of a failed initialisation, if none succeeded */
    int64_t launch_result; /* the most frequent result of failed launches */
    char launch_failed_most[GV_FACTS_TEXT_BYTES]; /* the call */
    char launch_blocking[GV_FACTS_TEXT_BYTES];    /* "CUDA_LAUNCH_BLOCKING=1", if it is so */
    char hidden_devices[GV_FACTS_TEXT_BYTES];     /* "CUDA_VISIBLE_DEVICES=-1", if it hides all */
    /* The last allocation for which there was no memory, and what held most of its device; or else
     * of the device with the most allocated. refused_bytes, device_bytes, outside_bytes: 0: unknown
     */
    int64_t refused_bytes, refused_stack, refused_ended_well, device_bytes;
    int64_t held_bytes, peak_bytes, outside_bytes, other_bytes;
    char refused[GV_FACTS_TEXT_BYTES];       /* the call */
    char refused_where[GV_FACTS_TEXT_BYTES]; /* its line */
    char held_where[GV_FACTS_TEXT_BYTES];
    int64_t own_costs;        /* of gpuverify itself; 0: not known */
    int64_t own_cost_ppm;     /* in millionths of the processes' time, without what it cost once: */
    int64_t own_cost_once_ns; /* at the processes' start and end */
    struct gv_minutes_older older; /* that is in nothing else here */
    struct gv_late_rank late;
    int64_t flight_process, flight_ns, flight_running;
    char flight[GV_FACTS_TEXT_BYTES]; /* the longest call that has not returned, or that its
                                         process's end cut short */
};

/* The time of all used devices together, for the share of busy_ns. */
int64_t gv_run_facts_device_ns(const struct gv_run_facts *facts);
/* So many calls were like none that was measured that sums are too low by more than little. */
bool gv_run_facts_lacks_launches(const struct gv_run_facts *facts);
/* As "62 %", or "62 ± 3 %" if it is an estimate whose error is known: the truth is in that interval
 * 19 times of 20. */
#define GV_FACTS_SHARE_BYTES 40
const char *gv_run_facts_busy(const struct gv_run_facts *facts, char out[GV_FACTS_SHARE_BYTES]);
/* Calls were made in less than 90 % of the run. */
bool gv_run_facts_are_of_little(const struct gv_run_facts *facts);
/* The share of the kernels' and graphs' time in kernels with fewer blocks than multiprocessors;
 * and how much of the device the kernels with known grids filled. */
double gv_run_facts_underfilled(const struct gv_run_facts *facts);
double gv_run_facts_filled(const struct gv_run_facts *facts);
/* All launches failed, and nothing ran. */
bool gv_run_facts_launches_failed(const struct gv_run_facts *facts);
/* It is known that the GPU finished none of the launches. */
bool gv_run_facts_not_run(const struct gv_run_facts *facts);

/* 0 or -errno. */
int gv_run_facts_read(sqlite3 *trace, const struct gv_totals_part *part,
                      struct gv_run_facts *facts);
/* The same after gv_totals_keep(), of a trace that is not marked as finished yet. */
int gv_run_facts_read_made(sqlite3 *trace, const struct gv_totals_part *part,
                           struct gv_run_facts *facts);

#endif
