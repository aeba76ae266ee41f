/*
 * What the looks at threads say: each gets an account of the ledger, and the line that it is about.
 * Of a finished trace, or of one that is being written. One thread.
 */
#ifndef GV_ANALYSE_IDLE_LOOKS_H
#define GV_ANALYSE_IDLE_LOOKS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_idle_looks;

/* A lock for which threads wait, as looks at one thread see it. */
struct gv_idle_lock {
    int64_t looks, waiting; /* so many told of locks; how many other threads waited, summed */
    int64_t own, wanted;    /* in how many it had the lock itself, and waited for it, too */
    int64_t stack;          /* where another one waits; 0: not known */
    unsigned what;          /* enum gv_account of the one that has it, */
    int what_votes;         /* 0: not known */
};

#define GV_IDLE_THREADS_MOST 32 /* at one line; more are not told apart */

/* The CPUs that a process used, in looks at one thread. */
struct gv_idle_cpus {
    int64_t looks;     /* that say it */
    int64_t may_use;   /* the fewest CPUs that the process might use */
    double span_ns;    /* since the look before each, */
    double process_ns; /* CPU time of the process then, */
    double thread_ns;  /* and of the thread */
};

/* Texts are valid in the call. */
struct gv_idle_look {
    int64_t at_ns;
    int64_t thread;  /* as in idle_sample: negative: the tid of one that has no row yet */
    unsigned what;   /* enum gv_account */
    unsigned beside; /* what another thread does, for which this one waits; GV_ACCOUNTS: none */
    struct gv_idle_lock lock; /* of all looks with this verdict */
    struct gv_idle_cpus cpus; /* of looks at the line where others were seen most; of native code:
                                 of all with this verdict */
    int threads; /* how many threads took turns at that line; 0: they do not run, or none did */
    int times;   /* how often the workers were started for which it waits; 0: none are known */
    uint32_t verdict;   /* the same number: the same account, detail and line */
    int64_t stack;      /* 0: none */
    const char *detail; /* NULL: none */
    const char *where;  /* NULL: none */
};

/* 0, or -errno, which ends the reading. */
typedef int gv_idle_look_take(void *context, const struct gv_idle_look *look);

/* 0 or -errno. Close *looks in any case. */
int gv_idle_looks_open(sqlite3 *trace, struct gv_idle_looks **looks);
void gv_idle_looks_close(struct gv_idle_looks *looks);

/* Whether so much is remembered that the looks should be closed and opened again. */
bool gv_idle_looks_are_full(const struct gv_idle_looks *looks);

/* The looks with ids in (after, until], by thread, then by time. 0 or -errno. */
int gv_idle_looks_read(struct gv_idle_looks *looks, int64_t after, int64_t until,
                       gv_idle_look_take *take, void *context);

/* The account that the frames of a stack say its line is of; GV_ACCOUNTS: they do not. frames: to
 * be prepared before, for many stacks, and finalized. 0 or -errno. */
int gv_idle_frames_prepare(sqlite3 *trace, sqlite3_stmt **frames);
int gv_idle_stack_account(sqlite3_stmt *frames, int64_t stack, unsigned *what);

#endif
