/*
 * What the Linux kernel says of a thread: its state, the system call that it is in, how long it ran
 * and waited for a CPU.
 *
 * Of this process, or of another one, which /proc may hide. Allocates nothing.
 */
#ifndef GV_TRACE_THREAD_STATE_H
#define GV_TRACE_THREAD_STATE_H

#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_THREAD_NO_CALL (-1)

struct gv_thread_state {
    char state;   /* as in /proc/PID/stat; '?': unknown */
    int32_t call; /* number of the system call, or GV_THREAD_NO_CALL */
    uint64_t arguments[6];
    uint64_t sp; /* 0: unknown, because the thread runs */
    uint64_t pc;
    uint64_t cpu_ns; /* since the thread's start */
    uint64_t delay_ns;
    char comm[GV_SPOOL_COMM_BYTES];
    uint64_t ticks; /* of its CPU time, or its process's: see below */
};

/* The files of a thread that is read again and again; -1: not open. */
struct gv_thread_files {
    int call, stat, times;
};
#define GV_THREAD_NO_FILES ((struct gv_thread_files){-1, -1, -1})

void gv_thread_files_close(struct gv_thread_files *files);

/*
 * Of a thread of this process. Keeps the files open, unless it is NULL. `comm` and `ticks` are set
 * only if the thread is blocked. 0; -ESRCH: the thread has ended. What cannot be read is unknown.
 */
int gv_thread_state_read(uint32_t pid, uint32_t tid, struct gv_thread_files *files,
                         struct gv_thread_state *state);

/* Only its times. 0, or -errno: unknown. */
int gv_thread_state_times(uint32_t pid, uint32_t tid, struct gv_thread_files *files,
                          struct gv_thread_state *state);

/* Of a process's first thread, with the CPU time of the whole process. */
int gv_process_state_read(uint32_t pid, struct gv_thread_state *state);

/* The parts, for texts of /proc/PID/stat, syscall and schedstat. False: it is something else; that
 * part is unknown then. */
bool gv_thread_state_parse_stat(const char *text, struct gv_thread_state *state);
bool gv_thread_state_parse_call(const char *text, struct gv_thread_state *state);
bool gv_thread_state_parse_times(const char *text, struct gv_thread_state *state);

/* Reads the memory of the thread's process. True: all of it. */
typedef bool gv_thread_memory_read(void *context, void *to, uintptr_t from, size_t bytes);

/* A call that waits for an address in memory. */
bool gv_thread_state_is_futex(const struct gv_thread_state *state);
/* A call that waits for child processes. */
bool gv_thread_state_is_wait(const struct gv_thread_state *state);
/* A call that waits until one of some files is ready. */
bool gv_thread_state_is_poll(const struct gv_thread_state *state);

/*
 * What the thread's system call is about. For a file of GV_IDLE_TARGET_FILE, its path, cut to
 * `size`; otherwise "". Of several files it is the first socket, or the first one. Those of poll()
 * and select() are in its memory: not known without `read`.
 */
enum gv_idle_target gv_thread_state_target(uint32_t pid, uint32_t tid,
                                           const struct gv_thread_state *state,
                                           gv_thread_memory_read *read, void *context, char *path,
                                           size_t size);

/* The target by the name that the Linux kernel gives an open file: any socket is a
 * GV_IDLE_TARGET_SOCKET. */
enum gv_idle_target gv_thread_state_target_of_name(const char *name);

#endif
