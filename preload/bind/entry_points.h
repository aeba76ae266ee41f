/*
 * Finds who answers a CUDA call, and puts our wrappers in between.
 *
 * Programs reach a call in three ways:
 *
 *    through their PLT    our exported symbol of that name comes first. It is a stub of two
 *                         instructions (plt_stubs.S) that jumps to the address in its slot, which
 *                         gv_entry_points_bind() fills in at the first call
 *    through dlsym()      dlsym_filter.c lets the real dlsym() answer, and swaps the address
 *    from the driver      cuGetProcAddress() answers, and its wrapper swaps the address
 *
 * An address is swapped only if it is a call of the table in the mapped libcuda or libcudart.
 * Everything else is passed on unchanged.
 *
 * A process can have several libcudarts, and each must get its own calls. There are GV_RUNTIMES
 * sets of runtime wrappers, one per library. A further library is passed through, and only its
 * driver calls are recorded. Of NCCL only the first library is hooked.
 *
 * Any thread. Nothing here allocates. What is known of libraries changes under a lock, for some
 * microseconds, with signals blocked, and never across a call of the loader.
 */
#ifndef GV_BIND_ENTRY_POINTS_H
#define GV_BIND_ENTRY_POINTS_H

#include "preload/base/objects.h"
#include "preload/bind/plt_slots.h"
#include "trace/call_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_RUNTIMES 4

/* The real functions, for the wrappers. NULL: this library has no such call. */
extern void *gv_real_driver[GV_DRIVER_COUNT];
extern void *gv_real_runtime[GV_RUNTIMES][GV_RUNTIME_COUNT];
extern void *gv_real_nccl[GV_NCCL_COUNT];

/* The wrappers, made in hooks_driver.c and hooks_runtime.c. */
extern void *const gv_hooks_driver[GV_DRIVER_COUNT];
extern void *const gv_hooks_runtime0[GV_RUNTIME_COUNT];
extern void *const gv_hooks_runtime1[GV_RUNTIME_COUNT];
extern void *const gv_hooks_runtime2[GV_RUNTIME_COUNT];
extern void *const gv_hooks_runtime3[GV_RUNTIME_COUNT];
extern void *const gv_hooks_nccl[GV_NCCL_COUNT]; /* hooks_nccl.c */

/* Driver calls that we make ourselves, past our hooks. NULL: an older driver. */
struct gv_driver_calls {
    int (*context_get_current)(void **context);
    int (*context_get_device)(int *device);
    int (*graph_get_nodes)(void *graph, void **nodes, size_t *count);
    int (*primary_context_get_state)(int device, unsigned *flags, int *active);
    int (*function_get_name)(const char **name, void *function);
    int (*function_get_module)(void **module, void *function);
    int (*kernel_get_name)(const char **name, void *kernel);
    int (*kernel_get_library)(void **library, void *kernel);
    int (*driver_get_version)(int *version);
    int (*device_get_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_get_name)(char *name, int bytes, int device);
    int (*device_get_attribute)(int *value, int attribute, int device);
    int (*device_get_uuid)(void *uuid, int device);
    int (*device_total_memory)(size_t *bytes, int device);
    int (*context_set_current)(void *context);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_elapsed_time)(float *ms, void *start, void *end);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_get_context)(void *stream, void **context);
    int (*stream_is_capturing)(void *stream, int *status);
    int (*thread_exchange_capture_mode)(int *mode);
};

extern struct gv_driver_calls gv_driver_calls;

/* The same of NCCL. */
struct gv_nccl_calls {
    int (*count)(const void *communicator, int *count);
    int (*user_rank)(const void *communicator, int *rank);
};

extern struct gv_nccl_calls gv_nccl_calls;

/* From plt_stubs.S: the target for the caller's call through this slot. Never NULL. */
void *gv_entry_points_bind(struct gv_plt_slot *slot, uintptr_t caller);

/* The wrapper of `address` if it is the call number `api` of a mapped CUDA library, else
 * `address`. */
void *gv_entry_points_swap(void *address, int api);

/* The same by address alone, for what the driver returns. */
void *gv_entry_points_swap_driver(void *address);

/* Whether `object` is libcuda, a libcudart or libnccl, by its DT_SONAME. */
bool gv_entry_points_is_cuda(const struct gv_object *object);

/* Put these around a fork(): nobody finds or forgets a library in between. */
void gv_entry_points_hold(void);
void gv_entry_points_release(bool in_child);

/* Whether this address is in a library whose look-ups must see the plain driver and the plain
 * CUPTI: CUPTI, and our own module. */
bool gv_entry_points_is_tool(uintptr_t caller);

/* Put these around dlclose(): libraries that are gone are forgotten, and calls are bound anew. */
void gv_entry_points_begin_close(void);
void gv_entry_points_end_close(void);

#endif
