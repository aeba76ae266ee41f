/*
 * A session's id, "<pid>-<start ticks>-<8 hex digits>", and whether a process still lives. Pid and
 * start ticks are those of the session's root process.
 *
 * Needs only libc and allocates nothing, so the program's process can use it. Reentrant. Preserves
 * errno.
 */
#ifndef GV_TRACE_SESSION_ID_H
#define GV_TRACE_SESSION_ID_H

#include "trace/session.h"

#include <stdbool.h>
#include <stdint.h>

/* Field 22 of /proc/PID/stat. 0 or -errno; -ESRCH: no such process. */
int gv_session_read_start_ticks(uint32_t pid, uint64_t *ticks);

/* Writes the id of a session with this root process. `random` are its 8 digits. */
void gv_session_id_write(char id[GV_SESSION_ID_BYTES], uint32_t pid, uint64_t start_ticks,
                         uint32_t random);

/* Makes an id for a session with the calling process as its root. 0 or -errno. */
int gv_session_id_make(char id[GV_SESSION_ID_BYTES]);

/* Parses an id. 0, or -EINVAL: not an id (it may come from any environment). */
int gv_session_id_parse(const char *id, uint32_t *pid, uint64_t *start_ticks);

uint32_t gv_session_random(void);

enum gv_session_life {
    GV_SESSION_GONE = 0,   /* no such process, or its pid was reused */
    GV_SESSION_ZOMBIE = 1, /* all its threads have ended, but its parent has not waited for it */
    GV_SESSION_ALIVE = 2,
};

/* Of a process that /proc hides, only the pid is known. */
enum gv_session_life gv_session_process_life(uint32_t pid, uint64_t start_ticks);

/* Whether the process with this number is gone or a zombie. */
bool gv_session_has_ended(uint32_t pid);

/* For a thread other than the main one: whether it alone is left in this process, beside the main
 * thread, which has ended. */
bool gv_session_is_last_thread(void);

#endif
