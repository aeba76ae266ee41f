/*
 * What every wrapper does around the call that it wraps: gv_call_begin(), the real call,
 * gv_call_end().
 *
 * The outermost hooked call of a thread becomes a CALL record. Inside it, hooked calls are not
 * recorded, but what they tell is kept: code that is loaded, the names of kernels, the kernel that
 * a runtime launch comes down to.
 *
 * An exception may pass through the real call (the driver calls back). The wrappers name
 * gv_unwind_personality as their personality routine, which closes the call as "unwound": a
 * clean-up region would need _Unwind_Resume from a library that C programs do not have.
 */
#ifndef GV_HOOKS_CALLS_H
#define GV_HOOKS_CALLS_H

#include "trace/call_table.h"
#include "trace/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_call {
    uint64_t start_ns;    /* of an outermost call, and of one that loads code */
    uint32_t depth;       /* hooked calls around this one */
    uint32_t kernel;      /* LAUNCH: number, as far as it is known before the call */
    uint32_t correlation; /* CUPTI's; of a nested call what the outermost one had before */
    uint16_t api;
    uint16_t around; /* of a nested call: the one that it was made in */
    uint8_t class; /* enum gv_api_class: not to be looked up, which would be one more cache miss */
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
};

/* What a wrapper knows about its call, filled in by the facts of its row. */
struct gv_facts {
    uint64_t stream;
    uint64_t bytes;
    uint64_t object;
    uint64_t kernel;  /* handle of what is launched */
    uint64_t made;    /* handle that came into being */
    uint64_t owner;   /* NAMES: module or library; ALIASES: what is known; UNLOADS: what goes */
    const void *data; /* image, path, or name */
    size_t data_bytes;
    const char *label; /* LINKS_IMAGE: the name given to the input */
    uint8_t flags;     /* enum gv_record_flags */
    uint8_t what;      /* enum gv_fact */
    uint8_t load_kind;
    uint32_t module; /* UNLOADS: number, found before the call */
};

/* What every call's record has. The rest counts only for the kind of fact that `what` names. */
static inline void gv_facts_clear(struct gv_facts *facts)
{
    facts->stream = 0;
    facts->bytes = 0;
    facts->object = 0;
    facts->kernel = 0;
    facts->flags = 0;
    facts->what = GV_FACT_NONE;
}

static inline void gv_facts_tell(struct gv_facts *facts, enum gv_fact what)
{
    facts->what = (uint8_t)what;
    facts->made = 0;
    facts->owner = 0;
    facts->data = NULL;
    facts->data_bytes = 0;
    facts->label = NULL;
    facts->load_kind = 0;
}

void gv_call_begin(struct gv_call *call, enum gv_api_id api, enum gv_api_class class,
                   const struct gv_facts *facts);
void gv_call_end(struct gv_call *call, int32_t result, const struct gv_facts *facts);

/* UNLOADS_ALL, before the real call. */
void gv_call_before_unload_all(void);

/* UNLOADS, before the real call: another thread may get the same handle as soon as it is free. */
uint32_t gv_call_before_unload(uint64_t owner);

/* Marks the function that it stands in; see above. 0x1b: relative to the table, four bytes. */
#define GV_UNWINDABLE __asm__ volatile(".cfi_personality 0x1b, gv_unwind_personality")

#endif
