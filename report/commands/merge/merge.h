/*
 * Copies several traces into one, on one time line. Ids are new; calls' names and stacks are
 * shared. Rows go from file to file, so memory does not grow with the traces. A trace without
 * current results of the analysis, or of an earlier schema, is copied into a temporary one and
 * analysed first.
 */
#ifndef GV_COMMANDS_MERGE_H
#define GV_COMMANDS_MERGE_H

#include "report/show/output_file.h"

#include <stdbool.h>
#include <stddef.h>

/* The traces that words name: files, folders with files *.db, patterns with * and ?, and several of
 * these with colons in between; sorted, each file once. */
struct gv_merge_inputs {
    char **paths;
    size_t count, room;
    bool replaced; /* the output was one of them, and is left out */
};

/* Whether a word can stand for several traces. */
bool gv_merge_is_several(const char *word);
/* `output`, if there is one, is none of them: a job in the folder that is merged is written anew.
 * 0; or -errno after a message. Free them in any case. */
int gv_merge_inputs_find(struct gv_merge_inputs *inputs, const char *const *words, size_t count,
                         const char *output);
void gv_merge_inputs_free(struct gv_merge_inputs *inputs);

/* Fills an empty file. `replaced`: a trace that goes, and whose processes must all be in the job;
 * or NULL. 0; or -errno after a message. */
int gv_merge_make(const struct gv_merge_inputs *inputs, const char *into, const char *replaced);

/* Merges what a word stands for into a temporary file, for a command that reads several. 0: drop it
 * when it is open; or -errno after a message, and there is no file. */
int gv_merge_temporary(const char *word, struct gv_output_file *file);

#endif
