/*
 * Gives the native frames of a trace their names, from the files that were mapped, when the trace
 * is finished, and marks those that are CUDA's own. In the caller's transaction. What takes too
 * long, or is not there any more, keeps its place in its file.
 */
#ifndef GV_COLLECT_STACK_NAMES_H
#define GV_COLLECT_STACK_NAMES_H

#include "report/store/database.h"

/* 0 or -errno. Frames that have a name already are left alone. */
int gv_stack_names_find(struct gv_database *database);

#endif
