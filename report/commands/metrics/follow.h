/*
 * Sums of a session that runs: adds up what came since the last time.
 *
 * It analyses the newest piece of the trace as the collector analyses a trace's oldest minutes
 * (report/collect/keep_fold.h), in a database of its own, and adds the sums to those of earlier
 * pieces, in the file `state`. So a sum never goes down, also if older parts of the trace are
 * deleted. It reads the trace a few milliseconds at a time. If it is more than a minute behind, it
 * skips what is in between, and says so in a sum.
 */
#ifndef GV_COMMANDS_METRICS_FOLLOW_H
#define GV_COMMANDS_METRICS_FOLLOW_H

/* 0: go on; 1: the trace is finished, and all of it is in the sums; -ENOTSUP: the trace is one of
 * another version; or -errno: try it again. Takes seconds, and memory that it does not give back:
 * call it in a process of its own. */
int gv_follow_step(const char *trace, const char *state);

#endif
