/*
 * Work that may never end, in a process of its own: a driver in trouble keeps who asks it, and who
 * reads a process whose memory it has locked.
 */
#ifndef GV_LOOK_APART_H
#define GV_LOOK_APART_H

#include <stddef.h>
#include <stdint.h>

/*
 * Runs `work` on a copy of the result, and copies back what it has become, also if the work was
 * ended: at `end_ns`, or if it took longer than `patience_ns`, which begins anew whenever the work
 * changes the number that the result begins with. 0; -ETIMEDOUT: it was ended; -EIO: a signal ended
 * it; or another -errno.
 */
int gv_apart_run(void (*work)(void *result), void *result, size_t bytes, uint64_t patience_ns,
                 uint64_t end_ns);

#endif
