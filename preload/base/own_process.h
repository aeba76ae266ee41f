/*
 * The state of this process: whether it may be recorded, and whether it is.
 *
 * Its first CUDA call attaches it; a forked child is attached again by its own first call. Before
 * that there is only an environment variable: no file, no thread, no helper. preload/process/
 * attaches it and handles its end.
 */
#ifndef GV_BASE_OWN_PROCESS_H
#define GV_BASE_OWN_PROCESS_H

#include "trace/session.h"
#include "trace/settings.h"
#include "trace/spool_writer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_process {
    struct gv_settings settings;
    struct gv_spool_writer spool;
    struct gv_session_file *session; /* mapped while attached */
    char session_path[GV_SESSION_PATH_BYTES];
    char session_id[GV_SESSION_ID_BYTES];
    void *hold;   /* of the spool: trace/spool_hold.h */
    uint32_t pid; /* of the process that attached */
    bool forked;  /* this is the child of an attached process */
};

extern struct gv_process gv_process;

/* At least a page. */
#ifdef __aarch64__
#define GV_OWN_PAGE_BYTES 65536
#else
#define GV_OWN_PAGE_BYTES 4096
#endif

struct gv_gpu_module;

/*
 * Data of exactly one process. The Linux kernel empties these pages in a forked child, however it
 * was forked. So at its next call a child sees that the spool is not its own, and does not wait for
 * a thread that only its parent has.
 */
struct gv_process_own {
    /* Not 0 while it records, and unique to each recording process. */
    _Alignas(GV_OWN_PAGE_BYTES) _Atomic uint64_t token;
    _Atomic uint64_t open;        /* the token; 0 while calls wait for `gpu_starter` */
    _Atomic uint32_t gpu_starter; /* futex: the thread that starts the GPU side; 0: none */
    /* Of the control in the spool. Odd: calls with GV_TRAIT_SKIPPED are not recorded. */
    _Atomic(_Atomic uint32_t *) changes;
    /* It records the GPU side, or has left CUPTI to another profiler; NULL: none, or no more. */
    _Atomic(const struct gv_gpu_module *) gpu_module;
    _Atomic uint32_t stage; /* of its attachment (preload/process/process.c); 0: new */
};
extern struct gv_process_own gv_process_own;

static inline uint64_t gv_process_token_now(void)
{
    return atomic_load_explicit(&gv_process_own.token, memory_order_relaxed);
}

static inline bool gv_process_is_recording(void)
{
    return gv_process_token_now() != 0;
}

/* A child inherits CUPTI, and must not use it. Any thread. */
static inline const struct gv_gpu_module *gv_process_gpu_module(void)
{
    return atomic_load_explicit(&gv_process_own.gpu_module, memory_order_acquire);
}

/* Of an attached process: whether calls with GV_TRAIT_SKIPPED are not recorded now. */
static inline bool gv_process_is_stopped(void)
{
    _Atomic uint32_t *changes = atomic_load_explicit(&gv_process_own.changes, memory_order_relaxed);

    return atomic_load_explicit(changes, memory_order_relaxed) & 1;
}

/* Functions of preload/process/ for the rooms below, filled in by it. Any thread, at any time. */
struct gv_thread;
struct gv_process_steps {
    /* Makes the spool, joins the session, and starts the collector if there is none. The first
     * thread does it, and the others wait. True: the process records now. */
    bool (*attach)(void);
    void (*note_driver)(void);                               /* gv_gpu_note_driver() */
    void (*note_environment)(void);                          /* gv_process_note_environment() */
    void (*start_gpu)(struct gv_thread *thread);             /* gv_gpu_start() */
    void (*await_gpu_start)(const struct gv_thread *thread); /* gv_gpu_await_start() */
    void (*leave_gpu_start)(struct gv_thread *thread);       /* gv_gpu_leave_start() */
    void (*write_open_ranges)(struct gv_thread *thread);     /* gv_ranges_write_open() */
    bool (*expect_peers)(void);                              /* gv_gpu_expect_peers() */
};
extern const struct gv_process_steps gv_process_steps;

/* Reads the environment's settings, once. */
void gv_process_read_settings(void);

/* False: set-user-id, or failed before. At any time, also before our constructor. */
bool gv_process_is_ours(void);

/* True in the attached process; false in a vfork()ed child of it, which shares its memory. */
bool gv_process_is_attached_here(void);

/* GPUVERIFY_RUNTIME. At any time. */
bool gv_process_records_runtime(void);

#endif
