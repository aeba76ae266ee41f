/*
 * A session's id, "<pid>-<start ticks>-<8 hex digits>", and whether a process still lives.
 *
 * libc only, allocates nothing: used inside the program's process too. Pid and start ticks are
 * those of the session's root process. Threads: everything here is reentrant. errno is left as it
 * was.
 */
#ifndef GV_TRACE_SESSION_ID_H
#define GV_TRACE_SESSION_ID_H

#include "trace/session.h"

#include <stdbool.h>
#include <stdint.h>

/* Field 22 of /proc/PID/stat. 0, or -errno; -ESRCH: there is no such process. */
int gv_session_read_start_ticks(uint32_t pid, uint64_t *ticks);

/* Writes the id of a session whose root is the given process. `random` are its 8 digits. */
void gv_session_id_write(char id[GV_SESSION_ID_BYTES], uint32_t pid, uint64_t start_ticks,
                         uint32_t random);

/* Makes up an id for a session whose root is the calling process. 0, or -errno. */
int gv_session_id_make(char id[GV_SESSION_ID_BYTES]);

/* Takes an id apart. 0, or -EINVAL: no id (it may come from anybody's environment). */
int gv_session_id_parse(const char *id, uint32_t *pid, uint64_t *start_ticks);

uint32_t gv_session_random(void);

enum gv_session_life {
    GV_SESSION_GONE = 0,   /* no such process, or its pid belongs to another one by now */
    GV_SESSION_ZOMBIE = 1, /* all its threads have ended; its parent has not asked yet */
    GV_SESSION_ALIVE = 2,
};

enum gv_session_life gv_session_process_life(uint32_t pid, uint64_t start_ticks);

#endif
