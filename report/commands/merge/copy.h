/*
 * Copies traces into a job, table by table. Ids are new; calls' names and stacks are shared; times
 * are moved to the job's clock. Rows go from file to file, so memory does not grow with the traces.
 */
#ifndef GV_COMMANDS_MERGE_COPY_H
#define GV_COMMANDS_MERGE_COPY_H

#include "report/analyse/jobs/clocks.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_MERGE_TABLES     128
#define GV_MERGE_NAME_BYTES 64

struct gv_merge_table {
    char name[GV_MERGE_NAME_BYTES];
    int64_t added; /* to the ids of the trace that is copied */
};

struct gv_merge_copy {
    struct gv_database job;
    struct gv_merge_table tables[GV_MERGE_TABLES];
    size_t table_count;
    bool same_api; /* of the trace that is copied, and of the job */
};

/* Makes a job, without rows, of an empty file. 0 or -errno. Close the database in any case. */
int gv_merge_copy_open(struct gv_merge_copy *copy, const char *path);

/* How many processes of a trace the job does not have. 0 or -errno. */
int gv_merge_copy_lacks(struct gv_merge_copy *copy, const char *path, int64_t *processes);

/* Adds a trace's rows. What is said of the whole job, such as its program, is that of the first
 * trace. 0; -EEXIST: it holds a process that the job has; or -errno. */
int gv_merge_copy_trace(struct gv_merge_copy *copy, const char *path,
                        const struct gv_trace_clock *clock);

#endif
