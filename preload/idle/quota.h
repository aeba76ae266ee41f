/* The CPU quotas of this process's control group and of those above it. One thread uses it. */
#ifndef GV_IDLE_QUOTA_H
#define GV_IDLE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the quotas, as they are now. Before the first of the next. */
void gv_quota_start(void);

/* The same for the group in a folder. */
void gv_quota_start_at(const char *folder);

/* Whether one was used up since it was last asked. Reads a file for each. False: unknown. */
bool gv_quota_was_used_up(void);

/* How many CPUs the tightest allows, rounded up; 0: there is no quota. */
unsigned gv_quota_cpus(void);

/* The folder of the CPU controller's group, from the text of /proc/PID/cgroup. False: none. */
bool gv_quota_folder(const char *text, char *folder, size_t size);

/* How often the group was throttled, by a text of cpu.stat. False: it does not say. */
bool gv_quota_parse(const char *text, uint64_t *times);

/* How many CPUs a quota is worth, rounded up, by a text of cpu.max: "150000 100000" is worth 2. 0:
 * none. */
unsigned gv_quota_parse_cpus(const char *text);

#endif
