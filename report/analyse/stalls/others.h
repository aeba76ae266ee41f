/*
 * What other processes did while a call took long, and what such a call usually takes. Read once
 * for a trace; without other processes there is nothing to read.
 */
#ifndef GV_ANALYSE_STALLS_OTHERS_H
#define GV_ANALYSE_STALLS_OTHERS_H

#include "report/analyse/stalls/run.h"

/* 0 or -errno. */
int gv_stall_others_open(struct gv_stall_run *run);
void gv_stall_others_close(struct gv_stall_others *others);

/* What such a call of that size usually takes. -1: too few were seen. */
int64_t gv_stall_usual_ns(const struct gv_stall_others *others, const struct gv_stall_call *call);

#endif
