/*
 * The interface between the simulated driver and the simulated libcupti.
 *
 * libcupti asks cuGetExportTable for GV_SIM_TRACING_ID and gets a struct gv_sim_tracing. The driver
 * then calls the attached tracer on the thread of the CUDA call. It holds none of its locks, except
 * in `jit`, `overhead` and `module`, where `work` of the context may be locked. There is one tracer
 * for the life of the process; a forked child has none. Times are of now_ns().
 */
#ifndef GV_TESTS_SIM_TRACING_H
#define GV_TESTS_SIM_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_SIM_TRACING_ID "gpuverify sim 1" /* with its last 0, the 16 bytes of the UUID */

enum gv_sim_operation_kind {
    GV_SIM_OPERATION_KERNEL,
    GV_SIM_OPERATION_COPY,
    GV_SIM_OPERATION_PEER,
    GV_SIM_OPERATION_SET,
    GV_SIM_OPERATION_GRAPH,
};

enum gv_sim_side {
    GV_SIM_SIDE_PAGEABLE,
    GV_SIM_SIDE_PINNED,
    GV_SIM_SIDE_DEVICE,
    GV_SIM_SIDE_MANAGED
};

/* An operation on the GPU. Everything is known when it is queued, also its end. */
struct gv_sim_operation {
    enum gv_sim_operation_kind kind;
    uint32_t device, context, stream, correlation;
    uint64_t start_ns, end_ns;
    uint32_t graph;      /* GRAPH: the launched graph; else the one that this is a node of, or 0 */
    uint64_t graph_node; /* 0: none */

    uint64_t bytes; /* COPY, PEER, SET */
    uint32_t value; /* SET */
    bool async;
    enum gv_sim_side source, target;
    uint32_t source_device, source_context, target_device, target_context; /* PEER */

    const char *name;     /* KERNEL: valid during the call */
    const void *function; /* KERNEL: its handle, if it was launched by itself */
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
};

/* Numbers as in CUPTI, where they have been stable. */
enum gv_sim_overhead_kind {
    GV_SIM_OVERHEAD_LAZY_LOADING = 5 << 16,
    GV_SIM_OVERHEAD_QUEUE_FULL = 6 << 16,
};
enum gv_sim_jit_kind {
    GV_SIM_JIT_CACHE_LOAD = 1,
    GV_SIM_JIT_CACHE_STORE = 2,
    GV_SIM_JIT_COMPILE = 3
};
enum gv_sim_wait_kind {
    GV_SIM_WAIT_EVENT = 1,
    GV_SIM_WAIT_STREAM_EVENT = 2,
    GV_SIM_WAIT_STREAM = 3,
    GV_SIM_WAIT_CONTEXT = 4,
};

struct gv_sim_tracer {
    /* Around each call into the driver: returns the call's correlation id. */
    uint32_t (*enter)(unsigned symbol);
    void (*leave)(unsigned symbol, int result);

    void (*operation)(const struct gv_sim_operation *operation);
    void (*jit)(enum gv_sim_jit_kind kind, uint64_t start_ns, uint64_t end_ns);
    void (*overhead)(enum gv_sim_overhead_kind kind, uint64_t start_ns, uint64_t end_ns);
    void (*waited)(enum gv_sim_wait_kind kind, uint32_t context, uint32_t stream, uint64_t start_ns,
                   uint64_t end_ns, int result);
    /* Code that a context got or loses; the image as the program gave it, NULL if not kept. */
    void (*module)(bool loaded, void *context, uint32_t id, const void *image, size_t size_bytes);
    void (*context)(bool made, void *context);
    void (*stream)(bool made, void *context, void *stream);
    void (*initialised)(void);
    /* A node was made, or with `original` the last one was made as a clone of that. `type`: a
     * CUgraphNodeType. */
    void (*node)(const void *node, const void *original, int type);
};

struct gv_sim_tracing {
    size_t size_bytes;
    /* False: another copy of libcupti was the first in this process. */
    bool (*attach)(const struct gv_sim_tracer *tracer);
    uint64_t (*now_ns)(void);
    unsigned symbols;
    const char *(*symbol_name)(unsigned symbol);
    void *(*context)(uint32_t *id, uint32_t *device); /* the calling thread's, or NULL */
    bool (*context_id)(const void *context, uint32_t *id, uint32_t *device);
    bool (*stream_id)(void *stream, bool per_thread, uint32_t *id);
    uint32_t (*graph_id)(const void *exec); /* 0: not one */
    uint32_t (*newest_graph)(void);         /* the number of the last one instantiated */
    uint64_t (*node_id)(const void *node);  /* 0: not one */
    int (*devices)(void);
    void (*settle)(void); /* waits until no call waits for the GPU with a lock of its context */
};

#endif
