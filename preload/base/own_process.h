/*
 * What this process is to us: whether we may record it at all, and whether it records now.
 *
 * It is attached by the first CUDA call that it makes, and a forked child again by its own first
 * one. Until then nothing has been made but an environment variable: no file, no thread, no helper.
 * How it is attached, and how it ends, is in preload/process/.
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
    uint32_t pid; /* of the process that attached */
    bool forked;  /* we are the child of one that had attached */
};

extern struct gv_process gv_process;

/* What is a process's own: emptied in a forked child. */
struct gv_process_own {
    _Atomic uint64_t
        token;             /* not 0 while it records, and different in each process that ever did */
    _Atomic uint64_t open; /* the token; 0 while calls wait for `gpu_starter` */
    _Atomic uint32_t gpu_starter; /* futex: the thread that starts the GPU's side; 0: none */
};

/*
 * Points at what is this process's own. The page that holds it is emptied by the kernel in a forked
 * child, whatever way it was forked: so a child sees at its next call that the spool is not its
 * own, and waits for no thread that only its parent has.
 */
extern struct gv_process_own *_Atomic gv_process_own;

static inline struct gv_process_own *gv_process_own_now(void)
{
    return atomic_load_explicit(&gv_process_own, memory_order_relaxed);
}

static inline uint64_t gv_process_token_now(void)
{
    return atomic_load_explicit(&gv_process_own_now()->token, memory_order_relaxed);
}

static inline bool gv_process_is_recording(void)
{
    return gv_process_token_now() != 0;
}

/* What the rooms below ask of preload/process/, which fills it in. Any thread, any time. */
struct gv_thread;
struct gv_process_steps {
    /* Makes the spool, joins the session, starts the collector if there is none. The first thread
     * does it, the others wait for it. True if the process records now. */
    bool (*attach)(void);
    void (*note_driver)(void);                               /* gv_gpu_note_driver() */
    void (*start_gpu)(struct gv_thread *thread);             /* gv_gpu_start() */
    void (*await_gpu_start)(const struct gv_thread *thread); /* gv_gpu_await_start() */
    void (*leave_gpu_start)(struct gv_thread *thread);       /* gv_gpu_leave_start() */
};
extern const struct gv_process_steps gv_process_steps;

/* Reads the environment's settings, once. */
void gv_process_read_settings(void);

/* false: set-user-id, or given up. Any time, also before our constructor ran. */
bool gv_process_is_ours(void);

/* True in the process that attached; false in a vfork()ed child of it, which shares its memory. */
bool gv_process_is_attached_here(void);

/* GPUVERIFY_RUNTIME. Any time. */
bool gv_process_records_runtime(void);

#endif
