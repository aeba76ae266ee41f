/*
 * How much memory our files may take. /dev/shm is the program's too: in a container its 64 MB are
 * for all processes, and a program that finds none left dies of SIGBUS. So all files in a folder of
 * spools together take at most a quarter of what would be free without them.
 */
#ifndef GV_TRACE_SPOOL_MEMORY_H
#define GV_TRACE_SPOOL_MEMORY_H

#include <stdint.h>

struct gv_spool_memory {
    int64_t bytes;   /* that our files may still take; negative: they take too much */
    uint32_t spools; /* in the folder */
};

/* Looks at an open folder. Allocates nothing; any thread. 0 or -errno. */
int gv_spool_memory_look(int directory_fd, struct gv_spool_memory *memory);

/* How many more segments one of the spools may take, at most `most`. If all take as many at once,
 * they still have no more than a quarter. */
uint32_t gv_spool_memory_segments(const struct gv_spool_memory *memory, uint32_t most);

#endif
