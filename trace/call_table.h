/*
 * The table of calls as numbers (GV_ID_cuInit and so on: driver calls, runtime calls, NCCL's), and
 * the meaning of each.
 */
#ifndef GV_TRACE_CALL_TABLE_H
#define GV_TRACE_CALL_TABLE_H

#include "trace/spool_writer.h"

#include <stdbool.h>
#include <stdint.h>

enum gv_api_class {
#define GV_API_CLASS(name, text, room, recorded) GV_CLASS_##name,
#include "trace/call_classes.def"
    GV_CLASS_COUNT,
/* The class of each kind: GV_CLASS_OF_COPY_ASYNC = GV_CLASS_COPY */
#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags)                      \
    GV_CLASS_OF_##name = GV_CLASS_##class,
#include "trace/call_kinds.def"
};

enum gv_call_kind {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags) GV_KIND_##name,
#include "trace/call_kinds.def"
    GV_KIND_COUNT
};

/* What a hook must know of its kind at once: GV_TRAITS_OF_COPY_ASYNC and so on. */
enum gv_call_trait {
    GV_TRAIT_WORKS_ON_GPU = 1, /* WORK is not NONE */
    GV_TRAIT_ALLOCATES = 2,
    GV_TRAIT_PINS = 4,     /* allocates HOST memory */
    GV_TRAIT_RARE = 8,     /* CONTEXT, INIT: more than a record is to be done */
    GV_TRAIT_SKIPPED = 16, /* while recording is stopped */
    GV_TRAIT_SAMPLED =
        32, /* its stack is taken now and then, at random: what idle time is told by */
    GV_TRAIT_SETS_CONTEXT = 64, /* if it succeeds, its object becomes current */
    GV_TRAIT_QUESTION = 128,    /* no record of a quick one; FUNCTION_ASK: unless it fails */
};

/* What trace/call_kinds.def says of a kind: SCOPE, WORK, MEMORY, STOPPED, flags. */
enum {
    GV_STOPPED_FOLLOW = 0,
    GV_STOPPED_SKIP = GV_TRAIT_SKIPPED,
    GV_STOPPED_FORGET = GV_TRAIT_SKIPPED | GV_TRAIT_SETS_CONTEXT
};

enum gv_call_scope {
    GV_SCOPE_NOTHING = 0,
    GV_SCOPE_STREAM,
    GV_SCOPE_CONTEXT,
};

enum gv_gpu_work {
    GV_GPU_WORK_NONE = 0,
    GV_GPU_WORK_KERNEL,
    GV_GPU_WORK_GRAPH,
    GV_GPU_WORK_MOVE, /* a copy or a set; some copies leave no operation */
    GV_GPU_WORKS
};

enum gv_memory_space {
    GV_MEMORY_NONE = 0,
    GV_MEMORY_DEVICE,
    GV_MEMORY_HOST, /* pinned */
    GV_MEMORY_MANAGED,
    GV_MEMORY_PHYSICAL,
    GV_MEMORY_FREE, /* from here on these are not spaces, but what a call does */
    GV_MEMORY_CONTEXT_MADE,
    GV_MEMORY_CONTEXT_ENDED,
    GV_MEMORY_DEVICE_RESET, /* ends a context that was not made: a primary one */
    GV_MEMORY_MAPPED,       /* physical memory got one more use: a mapping, */
    GV_MEMORY_RETAINED,     /* a handle; */
    GV_MEMORY_UNMAPPED,     /* or one less: it lives until the last one ends */
    GV_MEMORY_RELEASED,
    GV_MEMORY_PROCESS_ENDED, /* of no call: */
    GV_MEMORY_SAMPLED,       /* so much of a device was used */
};

enum gv_call_flag {
#define GV_CALL_FLAG(name, bit) GV_CALL_##name = 1u << (bit),
#include "trace/call_flags.def"
};

enum gv_api_id {
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_ID_##symbol,
#define GV_API_NO_RUNTIME
#include "trace/calls.inc"
#undef GV_API_NO_RUNTIME
    GV_DRIVER_COUNT,
    GV_ID_BEFORE_RUNTIME = GV_DRIVER_COUNT - 1, /* the next row gets GV_DRIVER_COUNT */
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_ID_##symbol,
#define GV_API_NO_DRIVER
#include "trace/calls.inc"
    GV_CUDA_COUNT,
    GV_ID_BEFORE_NCCL = GV_CUDA_COUNT - 1,
#define GV_API(symbol, kind, type, parameters, arguments, facts) GV_ID_##symbol,
#define GV_API_NO_RUNTIME
#include "trace/calls.inc"
#undef GV_API_NO_RUNTIME
#undef GV_API_NO_DRIVER
    GV_API_COUNT
};

#define GV_RUNTIME_COUNT (GV_CUDA_COUNT - GV_DRIVER_COUNT)
#define GV_NCCL_COUNT    (GV_API_COUNT - GV_CUDA_COUNT)
#define GV_API_UNKNOWN   (-1)

enum gv_call_traits {
#define GV_CALL_KIND(name, class, cause, scope, work, memory, stopped, flags)                      \
    GV_TRAITS_OF_##name =                                                                          \
        (GV_GPU_WORK_##work != GV_GPU_WORK_NONE ? GV_TRAIT_WORKS_ON_GPU : 0) |                     \
        (GV_MEMORY_##memory > GV_MEMORY_NONE && GV_MEMORY_##memory < GV_MEMORY_FREE                \
             ? GV_TRAIT_ALLOCATES                                                                  \
             : 0) |                                                                                \
        (GV_MEMORY_##memory == GV_MEMORY_HOST ? GV_TRAIT_PINS : 0) |                               \
        (GV_CLASS_##class == GV_CLASS_CONTEXT || GV_CLASS_##class == GV_CLASS_INIT ? GV_TRAIT_RARE \
                                                                                   : 0) |          \
        (GV_CLASS_##class == GV_CLASS_ASK || GV_KIND_##name == GV_KIND_FUNCTION_ASK                \
             ? GV_TRAIT_QUESTION                                                                   \
             : 0) |                                                                                \
        (GV_GPU_WORK_##work != GV_GPU_WORK_NONE || GV_CLASS_##class == GV_CLASS_SYNC ||            \
                 GV_CLASS_##class == GV_CLASS_ALLOC || GV_CLASS_##class == GV_CLASS_FREE ||        \
                 GV_CLASS_##class == GV_CLASS_GRAPH ||                                             \
                 GV_KIND_##name == GV_KIND_STREAM_WAIT_EVENT || /* not questions */                \
                 GV_KIND_##name == GV_KIND_STREAM ||                                               \
                 (GV_CLASS_##class == GV_CLASS_STREAM &&                                           \
                  GV_STOPPED_##stopped == GV_STOPPED_FOLLOW)                                       \
             ? GV_TRAIT_SAMPLED                                                                    \
             : 0) |                                                                                \
        GV_STOPPED_##stopped,
#include "trace/call_kinds.def"
};

struct gv_api_row {
    const char *name;
    enum gv_call_kind kind;
    enum gv_api_class class;
    bool per_thread; /* stream 0 is its thread's own stream */
};

struct gv_call_kind_row {
    const char *name; /* NULL: not known */
    enum gv_api_class class;
    enum gv_call_scope scope;
    enum gv_gpu_work work;
    enum gv_memory_space memory;
    bool skipped;   /* while recording is stopped */
    uint32_t flags; /* enum gv_call_flag */
};

struct gv_api_class_row {
    const char *name;
    enum gv_spool_room room;
    bool recorded; /* makes rows */
};

/* By its number. */
static inline bool gv_api_in_runtime(int api)
{
    return api >= GV_DRIVER_COUNT && api < GV_CUDA_COUNT;
}

/* CUDA_ERROR_NOT_READY, CUDA_ERROR_DEINITIALIZED: the runtime uses the same numbers. */
#define GV_RESULT_NOT_READY     600
#define GV_RESULT_DEINITIALIZED 4
/* ncclInProgress: a communicator that does not block goes on after the call. */
#define GV_NCCL_IN_PROGRESS 7

/* Not a failure: "not ready", and what every CUDA call returns once the driver has ended (a program
 * with a runtime frees in exit handlers). NCCL's results, of calls of the class COLLECTIVE, have
 * numbers of their own. In SQL: is_failure in report/analyse/fragments.sql, and api_summary. */
static inline bool gv_result_is_failure(bool of_nccl, int64_t result)
{
    return result != 0 &&
           (of_nccl ? result != GV_NCCL_IN_PROGRESS
                    : result != GV_RESULT_NOT_READY && result != GV_RESULT_DEINITIALIZED);
}

extern const struct gv_api_row gv_api_rows[GV_API_COUNT];
extern const struct gv_call_kind_row gv_call_kinds[GV_KIND_COUNT + 1];
extern const struct gv_api_class_row gv_api_class_rows[GV_CLASS_COUNT];

/* The number of an exact name, or GV_API_UNKNOWN. Any thread, allocates nothing, takes no lock. */
int gv_api_find(const char *name);
/* The kind of a call by its exact name. For a call that the table lacks: the first kind of its
 * class. For an unknown class: GV_KIND_COUNT, which has a row in gv_call_kinds too. */
enum gv_call_kind gv_call_kind_find(const char *name, const char *class_name);
/* GV_CLASS_COUNT: there is no such class. */
enum gv_api_class gv_api_class_find(const char *class_name);
/* By a call's name, also of one that the table lacks: whether it is a runtime call. */
bool gv_api_is_runtime(const char *name);
/* Of a call by its exact name: as its row says. */
bool gv_api_is_per_thread(const char *name);

#endif
