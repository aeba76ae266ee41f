/*
 * The interface between libgpuverify.so and libgpuverify-cupti.so: one struct of functions in each
 * direction.
 *
 * The library opens the module when the process has initialised CUDA. The module records the GPU
 * side through CUPTI and writes it into the spool with a thread of its own. Of the library it calls
 * only the clock; the library calls only what is declared here. Both are built from the same tree:
 * GV_GPU_MODULE_VERSION and the spool's version reject another one.
 *
 * Matching calls with GPU operations: CUPTI numbers every call (its correlation id) and puts the
 * number into the records of what the call started. At the start of a call, the module writes the
 * number into a word of the calling thread, at a fixed distance from the thread pointer. The
 * library puts it into the call's record.
 */
#ifndef GV_TRACE_GPU_MODULE_H
#define GV_TRACE_GPU_MODULE_H

#include "trace/spool_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_GPU_MODULE_VERSION (12u << 16 | GV_SPOOL_VERSION)
#define GV_GPU_MODULE_SYMBOL  "gv_gpu_module"
#define GV_GPU_MODULE_FILE    "libgpuverify-cupti.so"

/*
 * What a profiler inside the program, such as torch.profiler, has asked of CUPTI. CUPTI serves one
 * at a time, and the program's own comes first. The library's exports of CUPTI's calls write this;
 * the module's thread reads it.
 */
struct gv_gpu_other {
    _Atomic uint32_t inside;        /* its calls that change something here, in progress */
    _Atomic uint64_t last_ns;       /* gv_monotonic_ns() at the end of the last one */
    _Atomic uint64_t kinds;         /* the kinds of records that it has enabled, a bit each */
    _Atomic(void *) subscriber;     /* its subscription; NULL: none */
    _Atomic uint32_t watches_calls; /* it has asked for callbacks for calls */
    _Atomic uint32_t is_finalized;  /* it has called cuptiFinalize() */
    _Atomic(void *) give;           /* its buffers' callbacks; NULL: none yet */
    _Atomic(void *) take;
    _Atomic(void *) clock;          /* its timestamp callback; NULL: none */
    char file[GV_SPOOL_PATH_BYTES]; /* library that made the call; written before yield() */
};

/*
 * How many graphs the program began to instantiate, and of how many that ended. CUPTI crashes in
 * the launch of a graph that was instantiated while launches of whole graphs were not recorded, if
 * they are now (measured: CUPTI 13.0, driver 580).
 */
struct gv_gpu_graphs {
    _Atomic uint32_t begun, ended;
};

/* What the library provides. It stays valid while the process lives. */
struct gv_gpu_host {
    uint64_t (*now_ns)(void); /* the session's clock; calls nothing */
    struct gv_spool_writer *spool;
    const char *cupti_path;      /* GPUVERIFY_CUPTI; "": search */
    intptr_t correlation_offset; /* distance of a uint32_t from the thread pointer */
    int64_t flush_ms;
    int32_t driver_version;
    bool graph_nodes; /* graphs node by node, with the calls that added them */
    const struct gv_gpu_other *other;
    const struct gv_gpu_graphs *graphs;
    char *why; /* GV_SPOOL_WHY_BYTES, for start()'s reason of failure */
    /* is_wanted: is a slow start still wanted? claim: from here on it is not abandoned. */
    bool (*is_wanted)(void);
    bool (*claim)(void);
    /* The calling thread's call added this node to a graph, or cloned `original` (0: none).
     * `is_graph`: the node is a graph itself. Neither allocates nor locks, and counts what is
     * lost. */
    void (*note_node)(uint64_t node, uint64_t original, bool is_graph);
    int (*start_thread)(void *(*run)(void *), void *context, size_t stack_bytes); /* 0 or -errno */
};

struct gv_gpu_module {
    uint32_t version;
    /*
     * Finds CUPTI, starts recording, and starts the thread that fetches. 0, or -errno with the
     * reason in `why` and nothing of CUPTI left on; also when it is no longer wanted. Call it once
     * in a process, on any thread, and never in a child of a process that called it. Fills in
     * header->gpu except `state` and `why`.
     */
    int (*start)(const struct gv_gpu_host *host);
    /*
     * The process is about to end: brings everything that CUPTI has into the spool. Waits for the
     * module's thread, for at most `patience_ns`. Any thread, more than once.
     */
    void (*finish)(uint64_t patience_ns);
    /* The same for a process that may continue after it; recording continues too. Also in a
     * signal handler. False: it was not finished in time. */
    bool (*fetch)(uint64_t patience_ns);
    /* Records copies between devices from now on. Not recorded from the start, because they make
     * each launch of a graph two to three times as expensive. Any thread. */
    void (*record_peers)(uint64_t patience_ns);
    /*
     * Another profiler is about to use CUPTI, and host->other->inside counts that call: fetches
     * what there is, and restores CUPTI, clock included; its buffers pass
     * through buffer_callbacks. The module's thread comes back when the other is done with it. Any
     * thread, not in a callback of CUPTI. Gives up after `patience_ns`.
     */
    void (*yield)(uint64_t patience_ns);
    /* The process goes on recording (trace/spool_control.h): waits until CUPTI is on, for at most
     * `patience_ns`. It is on already, unless the process began stopped. The module's thread also
     * looks by itself, with each fetch, because commands may say it from outside. Any thread. */
    void (*go_on)(uint64_t patience_ns);
    /* Any address in the libcupti that start() opened. */
    uintptr_t (*library)(void);
    /* To be registered instead of another profiler's callbacks, which they call (host->other). */
    void (*buffer_callbacks)(void **give, void **take);
};

#if defined(__x86_64__)
static inline char *gv_gpu_thread_pointer(void)
{
    char *pointer;

    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}
#else
static inline char *gv_gpu_thread_pointer(void)
{
    return __builtin_thread_pointer();
}
#endif

#endif
