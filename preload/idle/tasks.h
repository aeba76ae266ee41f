/* The threads of a process. */
#ifndef GV_IDLE_TASKS_H
#define GV_IDLE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

/* The numbers of at most `most` threads. How many they are; 0: unknown. Allocates nothing. */
unsigned gv_tasks_list(uint32_t pid, uint32_t *tids, unsigned most);

/* Whether only threads of ours are left beside the main thread, which has ended. Such a process
 * would otherwise live as long as they wait for each other. */
bool gv_tasks_are_ours(void);

#endif
