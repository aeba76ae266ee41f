/*
 * Shared by the simulated driver's parts.
 *
 * Every export is a small generated function (entry.c) that calls gv_sim_<symbol>, and nothing here
 * calls an export. So a preloaded library sees exactly the program's calls.
 *
 * Work on the simulated GPU is arithmetic on the real clock: a call that queues an operation
 * computes its end, and a call that waits sleeps until then. No thread runs a stream.
 *
 *  Locks, in the order in which they are taken:
 *    context->memory  allocating; locked by a call that waits for room in a full queue or for the
 * end of a pageable copy, which blocks others that allocate, but not launches context->work
 * queueing work, and calls that block queueing; locked, while sleeping, by a load that waits for
 * the GPU, as measured on the real driver graph, registry and list locks, each private to its file
 */
#ifndef GV_TESTS_SIM_SIM_H
#define GV_TESTS_SIM_SIM_H

#define __CUDA_API_VERSION_INTERNAL 1
#include "tests/sim/tracing.h"

#include <cuda.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From cudaProfiler.h, which NVIDIA's Python packages of the headers lack. */
typedef int CUoutput_mode;
CUresult cuProfilerInitialize(const char *configFile, const char *outputFile, CUoutput_mode mode);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

#define GV_SIM_DEVICES_MAX      8
#define GV_SIM_QUEUE_DEPTH      1024u
#define GV_SIM_KERNEL_REGISTERS 16
#define GV_SIM_UNLIKELY(x)      __builtin_expect(!!(x), 0)

#pragma GCC visibility push(hidden)

/* Every call, by its exported name. */
#define GV_API_NO_RUNTIME
#define GV_API(symbol, kind, type, parameters, arguments, facts) type gv_sim_##symbol parameters;
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts) type gv_sim_##symbol parameters;
#include "tests/sim/other_exports.def"

enum gv_sim_symbol {
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_SIM_SYMBOL_##symbol,
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_SIM_SYMBOL_##symbol,
#include "tests/sim/other_exports.def"
    GV_SIM_SYMBOLS
};

/* Settings (settings.c): the simulator's own are read when the library is loaded, CUDA's by cuInit.
 */
struct gv_sim_settings {
    uint64_t kernel_ns, jit_ns, load_ns, context_ns, copy_bytes_per_us, limit_ns, pin_ns_per_mb,
        pool_bytes_per_us;
    uint64_t memory_bytes, free_ns_per_mb, end_ns;
    int devices, driver_version;
    bool no_device, reuse_handles;
    bool all_hidden, eager;
    const char *log_path, *failures, *machine;
};
extern struct gv_sim_settings gv_sim_settings;
void gv_sim_settings_read_cuda(void);

/* The gate (entry.c): 0 if a call needs no gate. */
enum {
    GV_SIM_GATE_INIT = 1,
    GV_SIM_GATE_FORKED = 2,
    GV_SIM_GATE_LOG = 4,
    GV_SIM_GATE_FAIL = 8,
    GV_SIM_GATE_TRACE = 16
};
extern _Atomic unsigned gv_sim_gate;
bool gv_sim_enter(enum gv_sim_symbol symbol, CUresult *result);
void gv_sim_leave(enum gv_sim_symbol symbol, CUresult result);
CUresult gv_sim_not_simulated(const char *symbol);
const char *gv_sim_symbol_name(enum gv_sim_symbol symbol);

/* 1 while the thread is inside a call of the per-thread default stream's variant. */
extern _Thread_local int gv_sim_per_thread_default;

/* Time (clock.c) */
uint64_t gv_sim_now_ns(void);
void gv_sim_wait_until(uint64_t time_ns);
void gv_sim_pass(uint64_t duration_ns);

/* The machine that processes share (machine.c) */
void gv_sim_machine_join(void); /* this process has a context */
/* The kernel driver's lock; not recursive. */
void gv_sim_machine_enter(void);
void gv_sim_machine_leave(void);
/* What the kernel driver does to free, unmap or unpin memory. */
void gv_sim_machine_free(size_t size_bytes);

/* Handles (handle.c): memory is zeroed, and dead handles can be recognised. */
enum gv_sim_kind {
    GV_SIM_CONTEXT = 1,
    GV_SIM_STREAM,
    GV_SIM_EVENT,
    GV_SIM_MODULE,
    GV_SIM_LIBRARY,
    GV_SIM_KERNEL,
    GV_SIM_FUNCTION,
    GV_SIM_GRAPH,
    GV_SIM_NODE,
    GV_SIM_EXEC,
    GV_SIM_POOL,
    GV_SIM_ARRAY,
    GV_SIM_LINK,
    GV_SIM_MEMORY,
    GV_SIM_KINDS
};
#define GV_SIM_ALIVE 0x51530000u
struct gv_sim_object {
    uint32_t mark;
    uint32_t size_bytes;
    struct gv_sim_object *next_free;
};
void *gv_sim_object_new(enum gv_sim_kind kind, size_t size_bytes);
void gv_sim_object_free(void *object);
static inline bool gv_sim_is(const void *handle, enum gv_sim_kind kind)
{
    return (uintptr_t)handle > 4096 &&
           ((const struct gv_sim_object *)handle)->mark == (GV_SIM_ALIVE | kind);
}

/* Streams and contexts */
struct gv_sim_nodes { /* a set of graph nodes; owns its array */
    struct gv_sim_node **list;
    size_t count;
};

struct gv_sim_stream {
    struct gv_sim_object object;
    struct gv_sim_context *context;
    struct gv_sim_stream *next; /* of the context's streams */
    unsigned int flags;
    int priority;
    uint64_t id;
    bool legacy, blocking;
    const void *thread; /* whose per-thread default stream this is */
    _Atomic uint64_t end_ns;
    uint64_t event_end_ns;      /* of the last event; see event.c */
    _Atomic uint64_t host_work; /* the last host function queued, see host_work.c */
    _Atomic uint64_t late_ns;   /* how long its host functions have held it up */
    struct gv_sim_capture *_Atomic capture;
    struct gv_sim_nodes frontier;
    uint64_t queued;
    uint64_t slot_end_ns[GV_SIM_QUEUE_DEPTH];
};

struct gv_sim_context {
    struct gv_sim_object object;
    int device;
    unsigned int flags;
    uint64_t id;
    bool primary;
    bool launch_blocking;                    /* CUDA_LAUNCH_BLOCKING was 1 when it was made */
    pthread_mutex_t memory, work, addresses; /* taken in this order */
    _Atomic int
        waits; /* calls that wait for the GPU with one of the two locks, except for full queues */
    uint64_t now_ns;                  /* when `work` was taken to queue something */
    _Atomic uint64_t end_ns;          /* when all that was queued is done */
    _Atomic uint64_t blocking_end_ns; /* the same for streams that the legacy stream waits for */
    size_t limits[CU_LIMIT_MAX];
    size_t local_pool_bytes; /* per thread */
    struct gv_sim_stream *legacy;
    pthread_mutex_t list_lock; /* streams, modules */
    struct gv_sim_stream *streams;
    struct gv_sim_module *modules;
};

struct gv_sim_event {
    struct gv_sim_object object;
    struct gv_sim_context *context;
    unsigned int flags;
    bool recorded;
    _Atomic uint64_t time_ns;
    _Atomic uint64_t host_work;
    struct gv_sim_capture *capture; /* recorded in this capture, if it still runs */
    uint64_t capture_id;
    struct gv_sim_nodes frontier;
};

struct gv_sim_context *gv_sim_current(void);
struct gv_sim_context *gv_sim_context_of(CUcontext context); /* NULL: the current one */
void gv_sim_context_drain(struct gv_sim_context *context);
/* With context->work locked. */
void gv_sim_context_drain_holding(struct gv_sim_context *context);
/* Waits while a call that changes the context has its lock. */
void gv_sim_context_take_turn(struct gv_sim_context *context);
void gv_sim_contexts_settle(void);
CUresult gv_sim_device_check(CUdevice device);

struct gv_sim_stream *gv_sim_stream_of(CUstream handle, CUresult *error);
struct gv_sim_stream *gv_sim_stream_new(struct gv_sim_context *context, unsigned int flags,
                                        int priority);
void gv_sim_streams_free(struct gv_sim_context *context);
/* Takes context->work to queue an operation, and waits while the stream's queue is full. */
void gv_sim_stream_lock(struct gv_sim_stream *stream);
/* Queues an operation; context->work is locked. Returns its end. */
uint64_t gv_sim_stream_push(struct gv_sim_stream *stream, uint64_t duration_ns);
void gv_sim_stream_wait(struct gv_sim_stream *stream);
/* Waits for the stream, or until a time, while nobody else can allocate. No lock is held. */
void gv_sim_stream_wait_holding(struct gv_sim_stream *stream, uint64_t until_ns);
/* After a launch of a kernel or graph: with CUDA_LAUNCH_BLOCKING=1 it waits for its work. */
void gv_sim_stream_launched(struct gv_sim_stream *stream);
void gv_sim_raise(_Atomic uint64_t *value, uint64_t at_least);

/* Host functions (host_work.c) */
uint64_t gv_sim_host_queue(struct gv_sim_stream *stream, uint64_t due_ns, CUhostFn function,
                           CUstreamCallback callback, void *data);
bool gv_sim_host_pending(uint64_t work);
void gv_sim_host_wait(uint64_t work);
void gv_sim_host_drain(struct gv_sim_context *context);

/* Stream capture (capture.c) */
extern _Atomic unsigned gv_sim_captures;
CUresult gv_sim_capture_forbids(void); /* an unsafe call: 0 or 900 */
CUresult gv_sim_capture_forbids_waiting(const struct gv_sim_context *context);
CUresult gv_sim_capture_check(struct gv_sim_stream *stream); /* queueing work: 0, 901 or 906 */
CUresult gv_sim_capture_query(struct gv_sim_stream *stream); /* asking, waiting: 0, 900 or 906 */
CUresult gv_sim_capture_add(struct gv_sim_stream *stream, struct gv_sim_node *node);
struct gv_sim_graph *gv_sim_capture_graph(struct gv_sim_stream *stream);
CUresult gv_sim_capture_record(struct gv_sim_stream *stream, struct gv_sim_event *event);
CUresult gv_sim_capture_wait(struct gv_sim_stream *stream, struct gv_sim_event *event);
bool gv_sim_capture_has(const struct gv_sim_event *event);
int gv_sim_nodes_add(struct gv_sim_nodes *nodes, struct gv_sim_node *node);
int gv_sim_nodes_set(struct gv_sim_nodes *nodes, const struct gv_sim_nodes *from);
void gv_sim_nodes_free(struct gv_sim_nodes *nodes);

/* Whether work for this stream goes into a graph instead; hot path. */
static inline bool gv_sim_captured(struct gv_sim_stream *stream, CUresult *error)
{
    *error = CUDA_SUCCESS;
    if (!GV_SIM_UNLIKELY(atomic_load_explicit(&gv_sim_captures, memory_order_relaxed)))
        return false;
    *error = gv_sim_capture_check(stream);
    return atomic_load(&stream->capture) != NULL;
}
static inline CUresult gv_sim_unsafe(void)
{
    return GV_SIM_UNLIKELY(atomic_load(&gv_sim_captures)) ? gv_sim_capture_forbids() : CUDA_SUCCESS;
}

/* Code (image.c, image_ptx.c, module.c, library.c) */
struct gv_sim_entry { /* a kernel of an image */
    struct gv_sim_entry *next;
    char *name;
    uint64_t local_bytes; /* per thread */
    bool spins;
    bool meets; /* a kernel of NCCL's, see tests/sim/collective.h */
};
struct gv_sim_global {
    struct gv_sim_global *next;
    char *name;
    size_t size_bytes;
};
struct gv_sim_image {
    struct gv_sim_entry *entries;
    struct gv_sim_global *globals;
    unsigned int entry_count;
    bool needs_jit;
    uint64_t text_hash; /* of PTX */
    bool any_name;      /* compressed: its names are unknown */
    const void *code;   /* the program's, or `kept`; NULL if it may be gone */
    size_t code_bytes;
    void *kept; /* a copy, while somebody traces */
};
struct gv_sim_module {
    struct gv_sim_object object;
    struct gv_sim_context *context;
    uint32_t id;
    struct gv_sim_library *library; /* whose image it is, or NULL */
    struct gv_sim_image *image;
    struct gv_sim_function *functions;
    struct gv_sim_module *next;
    struct gv_sim_memory_of_global *globals;
};
struct gv_sim_function {
    struct gv_sim_object object;
    struct gv_sim_module *module;
    struct gv_sim_kernel *kernel;
    struct gv_sim_entry *entry;
    struct gv_sim_function *next;
    int attributes[CU_FUNC_ATTRIBUTE_MAX];
};
struct gv_sim_kernel {
    struct gv_sim_object object;
    struct gv_sim_library *library;
    struct gv_sim_entry *entry;
    struct gv_sim_kernel *next;
    struct gv_sim_function *_Atomic function; /* the one last launched */
    int attributes[CU_FUNC_ATTRIBUTE_MAX];
};
CUresult gv_sim_image_read(const void *data, size_t size_bytes, struct gv_sim_image **image);
CUresult gv_sim_image_ptx(struct gv_sim_image *image, const char *text, size_t size_bytes);
/* Takes the time to compile PTX, unless this process has compiled the same text before. */
void gv_sim_image_compile(struct gv_sim_image *image);
/* The code for a tracer: its address while it is loaded; a copy, to load it later; or none. */
void gv_sim_image_show(struct gv_sim_image *image, const void *code, size_t size_bytes);
void gv_sim_image_keep(struct gv_sim_image *image);
void gv_sim_image_forget(struct gv_sim_image *image);
void gv_sim_image_free(struct gv_sim_image *image);
struct gv_sim_entry *gv_sim_image_add(struct gv_sim_image *image, const char *name, size_t length,
                                      uint64_t local_bytes);
struct gv_sim_entry *gv_sim_image_find(struct gv_sim_image *image, const char *name);
int gv_sim_image_add_global(struct gv_sim_image *image, const char *name, size_t length,
                            size_t size_bytes);
CUresult gv_sim_file_read(const char *path, void **data, size_t *size_bytes);
CUresult gv_sim_module_make(struct gv_sim_context *context, struct gv_sim_image *image,
                            struct gv_sim_library *library, struct gv_sim_module **module);
void gv_sim_module_free(struct gv_sim_module *module);
CUresult gv_sim_module_function(struct gv_sim_module *module, struct gv_sim_entry *entry,
                                struct gv_sim_kernel *kernel, struct gv_sim_function **function);
CUresult gv_sim_module_global(struct gv_sim_module *module, const char *name, CUdeviceptr *address,
                              size_t *size_bytes);
/* The function to launch for a CUfunction or a CUkernel. Loads its code if needed. */
CUresult gv_sim_function_of(const void *handle, struct gv_sim_context *context,
                            struct gv_sim_function **function);
CUresult gv_sim_kernel_function(struct gv_sim_kernel *kernel, struct gv_sim_context *context,
                                struct gv_sim_function **function);
void gv_sim_library_forget(struct gv_sim_library *library, struct gv_sim_module *module);

/* How long a kernel runs. */
uint64_t gv_sim_kernel_ns(const struct gv_sim_entry *entry, void **parameters, void **extra);

/* Memory (memory.c): what an address is */
enum gv_sim_memory {
    GV_SIM_PAGEABLE,
    GV_SIM_PINNED,
    GV_SIM_REGISTERED,
    GV_SIM_DEVICE,
    GV_SIM_MANAGED
};
struct gv_sim_range {
    uintptr_t start;
    size_t size_bytes;
    enum gv_sim_memory memory;
    struct gv_sim_context *context;
    struct gv_sim_pool *pool; /* that it came from, or NULL */
    bool mapped, own;         /* own: malloc'ed here; mapped: with mmap */
    bool elsewhere;           /* its memory counts where it was made: physical, another process's */
    uint64_t id;
};
CUresult gv_sim_memory_make(size_t size_bytes, enum gv_sim_memory memory, struct gv_sim_pool *pool,
                            void **address);
CUresult gv_sim_memory_add(const struct gv_sim_range *range);
CUresult gv_sim_memory_free(uintptr_t address, bool host);
bool gv_sim_memory_find(uintptr_t address, struct gv_sim_range *found);
enum gv_sim_memory gv_sim_memory_kind(const void *address);
void gv_sim_memory_used(size_t *used_bytes);
/* Physical memory. False: there is not enough. */
bool gv_sim_memory_take(size_t size_bytes);
void gv_sim_memory_give_back(size_t size_bytes);
/* Waits while a thread changes the memory of the current context. */
void gv_sim_memory_ask(void);

/* Pools (pool.c). A synchronisation gives back what a pool keeps above its threshold. */
extern _Atomic bool gv_sim_pools_used;
void gv_sim_pools_release(void);
void gv_sim_pool_freed(struct gv_sim_pool *pool, size_t size_bytes);
static inline void gv_sim_pools_synchronised(void)
{
    if (GV_SIM_UNLIKELY(atomic_load_explicit(&gv_sim_pools_used, memory_order_relaxed)))
        gv_sim_pools_release();
}

/* Copies (copy.c): one rectangle, also what a graph's copy node holds */
struct gv_sim_rows {
    const char *source;
    char *target;
    size_t source_pitch, source_slice, target_pitch, target_slice;
    size_t width_bytes, height, depth;
    bool zero_cost;
    const struct gv_sim_context *source_context, *target_context; /* of a copy between peers */
};
struct gv_sim_fill {
    char *target;
    size_t pitch, element_bytes, width, height;
    uint32_t value;
};
void gv_sim_rows_copy(const struct gv_sim_rows *rows);
void gv_sim_fill_do(const struct gv_sim_fill *fill);
uint64_t gv_sim_copy_ns(size_t size_bytes);
struct gv_sim_array {
    struct gv_sim_object object;
    CUDA_ARRAY3D_DESCRIPTOR description;
    size_t row_bytes, rows, slices;
    char *data;
};

/* Graphs (graph.c, graph_node.c) */
struct gv_sim_node {
    struct gv_sim_object object;
    struct gv_sim_graph *graph;
    CUgraphNodeType type;
    struct gv_sim_nodes needs;
    uint64_t duration_ns, finish_ns;
    size_t index;
    struct gv_sim_node *copy; /* while its graph is being cloned */
    CUfunction function;
    CUDA_KERNEL_NODE_PARAMS kernel;
    struct gv_sim_rows rows;
    struct gv_sim_fill fill;
    CUhostFn host;
    void *host_data;
    struct gv_sim_graph *child;
};
struct gv_sim_graph {
    struct gv_sim_object object;
    uint32_t id;
    struct gv_sim_nodes nodes;
};
struct gv_sim_graph *gv_sim_graph_new(void);
void gv_sim_graph_free(struct gv_sim_graph *graph);
struct gv_sim_node *gv_sim_node_new(struct gv_sim_graph *graph, CUgraphNodeType type,
                                    uint64_t duration_ns);
struct gv_sim_node *gv_sim_node_kernel(struct gv_sim_graph *graph, CUfunction handle,
                                       struct gv_sim_function *function, uint64_t duration_ns);
struct gv_sim_node *gv_sim_node_child(struct gv_sim_graph *graph, const struct gv_sim_graph *child);
struct gv_sim_node *gv_sim_node_host(struct gv_sim_graph *graph, CUhostFn function, void *data);

uint32_t gv_sim_graph_id(const void *exec); /* 0: not one */
uint32_t gv_sim_graph_newest(void);
uint64_t gv_sim_node_id(const void *node); /* 0: not one */

/* Reports to a tracer (trace.c) */
extern const struct gv_sim_tracer *_Atomic gv_sim_tracer;
static inline bool gv_sim_traced(void)
{
    return GV_SIM_UNLIKELY(atomic_load_explicit(&gv_sim_tracer, memory_order_relaxed) != NULL);
}
void gv_sim_trace_enter(enum gv_sim_symbol symbol);
void gv_sim_trace_leave(enum gv_sim_symbol symbol, CUresult result);
void gv_sim_trace_forked(void);
/* Fill in the operation, then its time and device. */
void gv_sim_trace_kernel(struct gv_sim_operation *work, const char *name,
                         const CUDA_KERNEL_NODE_PARAMS *shape);
void gv_sim_trace_copy(struct gv_sim_operation *work, const struct gv_sim_rows *rows);
void gv_sim_trace_set(struct gv_sim_operation *work, const struct gv_sim_fill *fill);
/* The correlation id of the thread's call. */
uint32_t gv_sim_trace_correlation(void);
void gv_sim_trace_work(const struct gv_sim_stream *stream, uint64_t end_ns, uint64_t duration_ns,
                       struct gv_sim_operation *work);
void gv_sim_trace_node(const struct gv_sim_node *node, const struct gv_sim_node *original);
/* These end now. */
void gv_sim_trace_jit(enum gv_sim_jit_kind kind, uint64_t start_ns);
void gv_sim_trace_overhead(enum gv_sim_overhead_kind kind, uint64_t start_ns);
void gv_sim_trace_wait(enum gv_sim_wait_kind kind, const struct gv_sim_context *context,
                       const struct gv_sim_stream *stream, uint64_t start_ns);
void gv_sim_trace_module(bool loaded, const struct gv_sim_module *module);
void gv_sim_trace_context(bool made, struct gv_sim_context *context);
void gv_sim_trace_stream(bool made, struct gv_sim_stream *stream);

#undef GV_API_NO_RUNTIME
#pragma GCC visibility pop
#endif
