/*
 * The facts that a hook knows about its call, and the records of loads, link inputs, unloads and
 * kernel names that loads.c writes from them. These records come before the record of their
 * outermost call.
 */
#ifndef GV_HOOKS_FACTS_H
#define GV_HOOKS_FACTS_H

#include "preload/base/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_call {
    uintptr_t caller;  /* where it returns to */
    uint64_t start_ns; /* of an outermost call, and of one that loads code */
    uint64_t hook_ns;  /* when its hook began; 0: this hook is not measured */
    uint32_t kernel;   /* LAUNCH: the kernel's number, if known before the call */
    /* Not beside `correlation`, as it is in the record: both would be copied by one load, which had
     * to wait until the processor has stored the latter, and so all that the driver stored before:
     * a write to the GPU takes long. */
    uint32_t depth;       /* number of hooked calls around this one */
    uint32_t correlation; /* CUPTI's; for a nested call, the outermost one's until then */
    bool is_own_work;     /* from its begin to its end (preload/base/own_work.h) */
    uint16_t api;
    uint16_t around; /* the call around a nested one */
    uint8_t class;   /* enum gv_api_class; here to save a cache miss */
    uint8_t traits;  /* enum gv_call_trait */
    bool live;
};

enum gv_fact {
    GV_FACT_NONE,
    GV_FACT_LOADS_IMAGE,
    GV_FACT_LOADS_FILE,
    GV_FACT_LINKS_IMAGE,
    GV_FACT_LINKS_FILE,
    GV_FACT_NAMES,
    GV_FACT_ALIASES,
    GV_FACT_UNLOADS,
    GV_FACT_COLLECTIVE,
    GV_FACT_STACK, /* from here on the call gets a stack, however short it was */
    GV_FACT_HOST_FUNCTION,
};

/* What a hook knows about its call, filled in by the facts of its row. The last fields belong to
 * the kind of fact in `what`. */
struct gv_facts {
    uint64_t stream;
    uint64_t bytes; /* without HAS_BYTES: how many nodes the graph has that it made; 0: unknown */
    uint64_t object;
    uint64_t kernel;  /* handle of the launched kernel or graph */
    uint64_t made;    /* handle that the call made; HOST_FUNCTION: the function's number */
    uint64_t owner;   /* NAMES: module or library; ALIASES: the known handle; UNLOADS: what is
                         unloaded; HOST_FUNCTION: its address */
    const void *data; /* image, path, or name */
    size_t data_bytes;
    const char *label; /* LINKS_IMAGE: the name given to the input */
    uint8_t flags;     /* enum gv_record_flags */
    uint8_t what;      /* enum gv_fact */
    uint8_t load_kind;
    uint32_t module; /* UNLOADS: number, found before the call */
};

/* Records a load or a link input, after the real call returned at end_ns. */
void gv_loads_write(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                    uint64_t end_ns, const struct gv_facts *facts);

/* A call named a kernel: gives it a number, and writes its name if it is new. */
void gv_loads_note_name(struct gv_thread *thread, const struct gv_facts *facts, int32_t result);

void gv_loads_write_name(struct gv_thread *thread, uint32_t kernel, uint64_t handle,
                         uint32_t module, const char *name);

void gv_loads_write_unload(struct gv_thread *thread, const struct gv_facts *facts);

/* Writes what a collective of NCCL is, before its call's record (communicators.c). */
void gv_collective_write(struct gv_thread *thread, const struct gv_call *call);

/* ---- host functions (host_functions.c) ---- */

/* Before the real call: replaces the program's function and data by ours, which record when the
 * function runs, unless this call is inside another one or its stream is being captured. */
void gv_host_function_wrap(const struct gv_call *call, struct gv_facts *facts, bool is_callback,
                           void **function, void **data);

/* The real call failed: forgets a wrapped function. */
void gv_host_function_unwrap(struct gv_facts *facts, void *data);

/* The real call succeeded. */
void gv_host_function_write_launch(struct gv_thread *thread, const struct gv_facts *facts);

/* ---- contexts and their devices (contexts.c) ---- */

/* One use of the device's primary context was added. */
void gv_primary_note(int device, uint64_t context);
/* One use is about to be released, which may be the last one. */
bool gv_primary_may_end(int device);
/* The device was reset: returns the context that ended; 0: unknown. */
uint64_t gv_primary_reset(int device);
/* One use was released: returns the context that ended with the last use; 0: none did, or
 * unknown. */
uint64_t gv_primary_released(int device);
/* A green context was made a context. */
void gv_green_made_context(void);
/* What ends with a green context, or a device's primary one; 0: unknown, or several. */
uint64_t gv_green_ending(uint64_t green);
uint64_t gv_primary_ending(int device);
/* The current context; 0: none. */
uint64_t gv_context_current(void);
/* The device of the current context, which is `context`; -1: unknown, or recorded already. */
int gv_context_device_to_tell(uint64_t context);
/* False: its device is not recorded, or contexts have ended since. */
bool gv_context_is_told(uint64_t context);
/* Contexts are about to end: others may get their handles. */
void gv_contexts_void(void);

#endif
