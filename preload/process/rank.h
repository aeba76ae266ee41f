/* Reads which rank of a job this process is, once, when it attaches: trace/launchers.def. */
#ifndef GV_PROCESS_RANK_H
#define GV_PROCESS_RANK_H

#include "trace/rank.h"

#include <stdbool.h>

/* From the environment, and the machine's name. One thread at a time. */
void gv_process_rank_read(struct gv_rank *rank);

/* The container's id in /proc/self/cgroup or /proc/self/mountinfo: 64 hexadecimal digits between
 * other characters. Puts its first 12 digits, as tools show them, into `out`. */
bool gv_process_rank_container_id(const char *text, char out[GV_RANK_TEXT_BYTES]);

#endif
