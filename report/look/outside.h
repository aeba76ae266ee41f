/*
 * A process as it is seen from outside: /proc, and its memory through process_vm_readv. Nothing is
 * written to it and no thread of it is stopped. What is read may be anything, and may change at any
 * time: every read is bounded, and a part that cannot be read is unknown.
 *
 * One thread. Functions return 0 or -errno.
 */
#ifndef GV_LOOK_OUTSIDE_H
#define GV_LOOK_OUTSIDE_H

#include "report/unwind/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_OUTSIDE_NAME_BYTES 64u
#define GV_OUTSIDE_PATH_BYTES 1024u
#define GV_OUTSIDE_THREADS    1024u /* more of a process are not looked at */
#define GV_OUTSIDE_OBJECTS    2048u

struct gv_outside_status {
    char name[GV_OUTSIDE_NAME_BYTES];
    char state; /* as in /proc/PID/stat: 'Z' a zombie, 'T' stopped, 't' by a debugger; 0: none */
    uint32_t process; /* the thread's process */
    uint32_t parent;
    uint32_t user;   /* the effective one */
    uint32_t tracer; /* 0: none */
    uint32_t threads;
};

/* -ESRCH: there is no such process. */
int gv_outside_status(uint32_t pid, struct gv_outside_status *status);

/* Whether its memory can be read. 0; -EPERM: forbidden; -ESRCH; -EBUSY: it is ending; -ENOEXEC: one
 * of the Linux kernel's, or of 32 bits. */
int gv_outside_try(uint32_t pid);
/* What forbids it, and what to do. */
void gv_outside_refusal(uint32_t pid, const struct gv_outside_status *status, char *out,
                        size_t size);

/* Whether all of it was read. */
bool gv_outside_read(uint32_t pid, void *to, uintptr_t from, size_t bytes);

/* A thread's name; "": unknown. */
void gv_outside_name(uint32_t pid, uint32_t tid, char name[GV_OUTSIDE_NAME_BYTES]);
/* The thread's number in the innermost PID namespace that it is in, which memory of a container's
 * process holds; `tid` if that cannot be said. */
uint32_t gv_outside_inner_tid(uint32_t pid, uint32_t tid);
/* How many, at most `most`; 0: the process has ended. */
size_t gv_outside_threads(uint32_t pid, uint32_t *tids, size_t most);
/* The same for the processes of this machine. */
size_t gv_outside_processes(uint32_t *pids, size_t most);

/* One line of a file of the process, such as "cmdline", with blanks for its NULs. */
int gv_outside_text(uint32_t pid, const char *file, char *text, size_t size);
/* A variable of its environment when it began; false: it had none. */
bool gv_outside_variable(uint32_t pid, const char *name, char *value, size_t size);
/* When it was started, in ticks of a clock: another one has another, also if it has the same
 * number. 0: there is none. */
uint64_t gv_outside_start(uint32_t pid, uint32_t tid);
/* Whether it is there, and no zombie. */
bool gv_outside_is_there(uint32_t pid, uint32_t tid);
/* Since then, to a hundredth of a second; -1: unknown. */
int64_t gv_outside_age_ns(uint64_t start);
/* What the Linux kernel gives each program that begins: after exec() it has another. */
struct gv_outside_program {
    uint8_t random[16]; /* zeros: not known */
};
void gv_outside_program(uint32_t pid, struct gv_outside_program *program);
/* The process, or a thread of it if its main thread has ended: whose memory and files are those of
 * the process. 0: it has ended. */
uint32_t gv_outside_reader(uint32_t pid);

/* The files with code that it has mapped, by address. */
struct gv_outside_object {
    uint64_t base; /* what the addresses in the file are relative to */
    uint64_t low, high;
    char path[GV_OUTSIDE_PATH_BYTES];
    uint8_t build_id[GV_UNWIND_BUILD_ID];
    uint8_t build_id_bytes;
    uint64_t dynamic, dynamic_bytes; /* its dynamic section; 0: none */
};

struct gv_outside_objects {
    struct gv_outside_object *object;
    size_t count, room;
};

int gv_outside_objects(uint32_t pid, struct gv_outside_objects *objects);
/* NULL: none. */
const struct gv_outside_object *gv_outside_object_at(const struct gv_outside_objects *objects,
                                                     uint64_t address);
void gv_outside_objects_free(struct gv_outside_objects *objects);

#endif
