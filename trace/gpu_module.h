/*
 * How libgpuverify.so and libgpuverify-cupti.so meet: one struct of functions each way.
 *
 * The module is opened when the process has initialised CUDA. It sees the GPU's side through CUPTI,
 * and writes it into the spool as a thread of its own. It calls nothing of the library's but the
 * clock, and the library calls only what stands here. Both are built from the same tree;
 * GV_GPU_MODULE_VERSION, with the spool's version, keeps two trees from meeting.
 *
 * Which call of the program an operation on the GPU belongs to: CUPTI gives every call a number,
 * its correlation id, and puts it into the records of what the call started. The module writes the
 * number of a call that is being made into a word of the calling thread, which lies at the same
 * distance from every thread's thread pointer; the library puts it into the call's record.
 */
#ifndef GV_TRACE_GPU_MODULE_H
#define GV_TRACE_GPU_MODULE_H

#include "trace/spool_writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_GPU_MODULE_VERSION (5u << 16 | GV_SPOOL_VERSION)
#define GV_GPU_MODULE_SYMBOL  "gv_gpu_module"
#define GV_GPU_MODULE_FILE    "libgpuverify-cupti.so"

/* What the library gives the module. It stays where it is while the process lives. */
struct gv_gpu_host {
    uint64_t (*now_ns)(void); /* the session's clock; calls nothing */
    struct gv_spool_writer *spool;
    const char *cupti_path;      /* GPUVERIFY_CUPTI; "": look for it */
    intptr_t correlation_offset; /* of a uint32_t from the thread pointer */
    int64_t flush_ms;
    int32_t driver_version;
    bool graph_nodes;
    char *why; /* GV_SPOOL_WHY_BYTES, for start() to say what stood in the way */
    /* Of a start that takes long: is it still waited for? And from here on, it is not given up. */
    bool (*is_wanted)(void);
    bool (*claim)(void);
    int (*start_thread)(void *(*run)(void *), void *context, size_t stack_bytes); /* 0 or -errno */
};

struct gv_gpu_module {
    uint32_t version;
    /*
     * Finds CUPTI, starts recording, and starts the thread that flushes. 0 or -errno; `why` then
     * says why not, and nothing of CUPTI's is left on: so also when it is no longer wanted. Once in
     * a process, on any thread, and never in a child of one that called it. Fills in header->gpu
     * but for `state` and `why`.
     */
    int (*start)(const struct gv_gpu_host *host);
    /*
     * The end of the process is near: everything that CUPTI has comes into the spool. Waits for the
     * module's thread, and for no longer than `patience_ns`. Any thread, more than once.
     */
    void (*finish)(uint64_t patience_ns);
    /* The same for a process that may go on after it, as recording then does. Also in a signal
     * handler. false: it was waited for in vain. */
    bool (*fetch)(uint64_t patience_ns);
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
