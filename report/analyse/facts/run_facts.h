/*
 * A run in numbers, from the sums (report/analyse/totals/totals.h) and the small tables of an open
 * trace. Its facts and the report's head use them.
 */
#ifndef GV_ANALYSE_FACTS_RUN_FACTS_H
#define GV_ANALYSE_FACTS_RUN_FACTS_H

#include "report/analyse/jobs/collectives.h"
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/minutes/minutes.h"
#include "report/analyse/totals/part.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define GV_FACTS_TEXT_BYTES 256

/* Types of members. */
#define GV_RUN_FACT_NUMBER(name) int64_t name;
#define GV_RUN_FACT_TEXT(name)   char name[GV_FACTS_TEXT_BYTES];
#define GV_RUN_FACT_LONG(name)   char name[GV_KERNEL_NAME_LONG];

struct gv_run_facts {
#define GV_RUN_FACT(type, name) GV_RUN_FACT_##type(name)
#include "report/analyse/facts/run_facts.def"
    int64_t window_ns; /* from the first call's start to the last one's end, as far as recorded */
    int64_t known_ns;  /* the part in which the GPU side is known */
    bool known_first;  /* it is the first part */
    bool gpu_seen;     /* of all processes: what is missing in known_ns did not happen */
    bool gpu_whole;    /* and known_ns is the whole window, without losses */
    int64_t busy_ns, kernel_ns, copied_ns;   /* all devices together, in known_ns */
    bool complete;                           /* the trace is finished, and no snapshot */
    bool stopped;                            /* recording was, for a part of the run */
    bool whole;                              /* not a part of the trace, and never stopped */
    char ranges[GV_FACTS_TEXT_BYTES];        /* the calls': as gv_range_choice_say(); empty: any */
    char refused_where[GV_FACTS_TEXT_BYTES]; /* the line of that call */
    struct gv_minutes_older older;           /* that is in nothing else here */
    struct gv_late_rank late;
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
