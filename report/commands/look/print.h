/* Prints what was seen of a process: for people, or as JSON. 0 or -errno. */
#ifndef GV_COMMANDS_LOOK_PRINT_H
#define GV_COMMANDS_LOOK_PRINT_H

#include "report/look/gpus.h"
#include "report/look/processes.h"
#include "report/look/watch.h"

#include <stdio.h>

int gv_look_print(const struct gv_look *look, const struct gv_look_gpus *gpus, FILE *out);
int gv_look_print_json(const struct gv_look *look, const struct gv_look_gpus *gpus, FILE *out);

/* Several processes, one line each. `is_job`: they are the ranks of one. */
int gv_look_print_processes(const struct gv_look_processes *processes,
                            const struct gv_look_gpus *gpus, bool is_job, bool is_json, FILE *out);

#endif
