/* The CPU quota of this process's control group. One thread uses it. */
#ifndef GV_IDLE_QUOTA_H
#define GV_IDLE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the control group. Before the first of the next. */
void gv_quota_start(void);

/* Whether the quota was used up since it was last asked. Reads a file. False: unknown. */
bool gv_quota_was_used_up(void);

/* How many CPUs the quota allows, rounded up; 0: there is no quota. */
unsigned gv_quota_cpus(void);

/* The folder of the CPU controller's group, from the text of /proc/PID/cgroup. False: none. */
bool gv_quota_folder(const char *text, char *folder, size_t size);

/* How often the group was throttled, by a text of cpu.stat. False: it does not say. */
bool gv_quota_parse(const char *text, uint64_t *times);

/* How many CPUs a quota is worth, rounded up, by a text of cpu.max: "150000 100000" is worth 2. 0:
 * none. */
unsigned gv_quota_parse_cpus(const char *text);

#endif
