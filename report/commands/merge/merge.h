/*
 * Copies several traces into one, on one time line. Ids are new; calls' names and stacks are
 * shared. Rows go from file to file, so memory does not grow with the traces. A trace without
 * current results of the analysis, or of an earlier schema, is copied into a temporary one and
 * analysed first.
 */
#ifndef GV_COMMANDS_MERGE_H
#define GV_COMMANDS_MERGE_H

#include "report/show/output_file.h"
#include "report/analyse/jobs/clocks.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The traces that words name: files, folders with files *.db, patterns with * and ?, and several of
 * these with colons in between; sorted, each file once. */
struct gv_merge_inputs {
    char **paths;
    size_t count, room;
    bool replaced;   /* the output was one of them, and is left out */
    bool is_one_run; /* runs at different times are refused, unless they name one job */
};

/* Whether a word can stand for several traces. */
bool gv_merge_is_several(const char *word);
/* `output`, if there is one, is none of them: a job in the folder that is merged is written anew.
 * 0; or -errno after a message. Free them in any case. */
int gv_merge_inputs_find(struct gv_merge_inputs *inputs, const char *const *words, size_t count,
                         const char *output);
/* Adds what the shell would put for a word: the files and folders that fit a pattern, or itself. 0;
 * or -errno after a message. */
int gv_merge_inputs_spread(struct gv_merge_inputs *inputs, const char *word);
void gv_merge_inputs_free(struct gv_merge_inputs *inputs);

/* Fills an empty file. `replaced`: a trace that goes, and whose processes must all be in the job;
 * or NULL. 0; or -errno after a message. */
int gv_merge_make(const struct gv_merge_inputs *inputs, const char *into, const char *replaced);

/* Merges what a word stands for into a temporary file, for a command that reads several. 0: drop it
 * when it is open; or -errno after a message, and there is no file. */
int gv_merge_temporary(const char *word, struct gv_output_file *file);

/* ---- copy.c: copies traces into a job, table by table ---- */

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
