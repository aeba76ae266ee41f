/* How many CPUs the threads of this process may use. One thread uses it. */
#ifndef GV_IDLE_CPUS_H
#define GV_IDLE_CPUS_H

#include <stdint.h>
#include <time.h>

/* Before the first of the next, and in a forked child. */
void gv_cpus_start(void);

/* Of this machine; 0: unknown. */
int gv_cpus_online(void);

/* By a thread's affinity; 0: all of the machine. */
int gv_cpus_of_thread(uint32_t tid);

/*
 * By the affinities of the main thread and of those that work, together, and by the quotas of the
 * control groups. A program may bind its threads, each to a CPU of its own, after its libraries
 * have started some that only wait: what these may use says nothing. In the first second, all
 * count.
 *
 * It is found out at most once a second, among the first 256 threads.
 */
unsigned gv_cpus_of_process(uint32_t pid, uint64_t now_ns);

/* The clock of a thread's CPU time. */
clockid_t gv_cpus_clock(uint32_t tid);

#endif
