/*
 * Looks at the threads of a process from outside, several times, and says what each did: in the
 * words of the ledger (report/analyse/ledger/accounts.def), or the CUDA call that it was in. What
 * is seen goes into a trace in memory, so that frames and idle times are judged as those of a
 * trace.
 *
 * Nothing is written to the process. A blocked thread is never stopped; one that runs is, for
 * 0.3 ms at each look, for its frames (report/collect/running_stack.h).
 *
 * One thread. 0 or -errno.
 */
#ifndef GV_LOOK_WATCH_H
#define GV_LOOK_WATCH_H

#include "report/look/outside.h"
#include "report/store/database.h"
#include "trace/call_table.h"

#define GV_LOOK_TEXT_BYTES 512u
#define GV_LOOK_PARTS      8u /* the rest of what a thread did is not told */

/* What a thread did in some looks. */
struct gv_look_part {
    char call[GV_OUTSIDE_NAME_BYTES]; /* the outermost CUDA call that it was in; "": in none */
    enum gv_api_class class;          /* of the call; GV_CLASS_COUNT: not known */
    unsigned what;                    /* enum gv_account, or a cause; of no call */
    char detail[GV_LOOK_TEXT_BYTES], where[GV_LOOK_TEXT_BYTES]; /* "": none */
    unsigned looks;
    unsigned without_cpu; /* of these: it ran otherwise, and waited for a CPU in so many */
    unsigned in_driver;   /* and in so many the driver's own code was innermost */
    int64_t stack;        /* 0: none */
    uint32_t waits_for;   /* the thread that has the lock that it waits for; 0: not known */
};

struct gv_look_thread {
    uint32_t tid, inner_tid; /* inner_tid: what the process knows, in its namespace */
    char name[GV_OUTSIDE_NAME_BYTES];
    unsigned looks;    /* in which it was there */
    unsigned in_calls; /* of these, so many in CUDA calls, */
    unsigned with_gil; /* and so many with Python's GIL */
    bool is_own;       /* one of CUDA's own */
    bool runs_python;
    struct gv_look_part part[GV_LOOK_PARTS]; /* what it did most comes first */
    size_t parts;
};

struct gv_look {
    uint32_t pid, reader; /* reader: as gv_outside_reader() */
    uint64_t start;
    struct gv_outside_status status; /* at the last look */
    char command[GV_LOOK_TEXT_BYTES];
    int64_t age_ns;
    unsigned looks;
    double seconds;
    bool has_ended;      /* meanwhile */
    bool has_changed;    /* it began another program meanwhile */
    bool is_recorded;    /* by gpuverify */
    bool uses_cuda;      /* a driver is mapped */
    bool may_not_stop;   /* what running threads do natively is not known */
    bool python_unknown; /* it has one that cannot be read */
    struct gv_look_thread *thread;
    size_t threads, room;
    struct gv_database trace; /* frames are in its view frames, by a part's stack */
};

/* Free it in any case. -ESRCH, -EPERM, -EBUSY, -ENOEXEC as gv_outside_try(); -ESTALE: it began one
 * program after the other; or another -errno. */
int gv_look_watch(struct gv_look *look, uint32_t pid, unsigned looks, int64_t step_ns);
void gv_look_free(struct gv_look *look);

#endif
