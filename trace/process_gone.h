/* Whether no process has this number any more. Not through libc's kill(), which the preloaded
 * library exports: a process that asks would be one that may be about to end itself. */
#ifndef GV_TRACE_PROCESS_GONE_H
#define GV_TRACE_PROCESS_GONE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool gv_process_is_gone(uint32_t pid)
{
    return syscall(SYS_kill, (long)pid, 0L) < 0 && errno == ESRCH;
}

#endif
