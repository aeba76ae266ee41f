/*
 * Makes a hook from a row of the table. The including file defines GV_REAL(symbol), the address of
 * the real function, and GV_HOOK(symbol) and GV_GATE(symbol), the names of the hook and of its
 * gate.
 *
 * The facts of a row run as code: before the call, for the call in flight and for what becomes
 * invalid, once it has begun, for what replaces its arguments, and after it. What is behind a
 * pointer is read only if the call succeeded: a failed one may have been given anything.
 */
#ifndef GV_HOOKS_HOOK_MACROS_H
#define GV_HOOKS_HOOK_MACROS_H

#include "preload/hooks/calls.h"
#include "preload/hooks/names.h"

/* A number of CUarray_format; 0: a packed or compressed one. */
static inline uint64_t gv_format_bytes(int format)
{
    switch (format) {
    case 0x01: /* 8 bits */
    case 0x08:
        return 1;
    case 0x02: /* 16 bits */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* 32 bits */
    case 0x0a:
    case 0x20:
        return 4;
    default:
        return 0;
    }
}

/* Without what the driver adds to rows. A height or depth of 0 is that of fewer dimensions. */
static inline uint64_t gv_array_bytes(uint64_t element_bytes, uint64_t width, uint64_t height,
                                      uint64_t depth, unsigned levels)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < levels && i < 32; i++)
        bytes += element_bytes * (width >> i ? width >> i : 1) * (height >> i ? height >> i : 1) *
                 (depth >> i ? depth >> i : 1);
    return bytes;
}

#define GV_BEFORE 0
#define GV_BEGUN  1
#define GV_AFTER  2

#define GV_BITS(value) ((uint64_t)(uintptr_t)(value))
#define GV_DONE        (gv_phase == GV_AFTER && result == 0)

/* A fact is a whole statement, whatever stands before or behind it. */
#define GV_WHEN(condition, ...)                                                                    \
    {                                                                                              \
        if (condition) {                                                                           \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define GV_PLAIN
#define GV_STREAM(value)                                                                           \
    GV_WHEN(gv_phase != GV_BEGUN, gv_facts.stream = GV_BITS(value);                                \
            gv_facts.flags |= GV_RECORD_HAS_STREAM;)
#define GV_STREAM_IN(pointer, value) GV_WHEN(GV_DONE && (pointer), GV_STREAM(value))
/* Of a launch, whose configuration is read before it only if it may be sampled: then a context is
 * current, so the driver reads it as well. */
#define GV_CONFIG(config, its_stream, attributes, count)                                           \
    GV_WHEN(gv_phase == GV_BEFORE && (config) && gv_call_may_sample() &&                           \
                gv_pairs_allow((config)->attributes, (config)->count),                             \
            GV_STREAM((config)->its_stream))                                                       \
    GV_STREAM_IN(config, (config)->its_stream)
#define GV_BYTES(value)                                                                            \
    GV_WHEN(gv_phase == GV_AFTER, gv_facts.bytes = (uint64_t)(value);                              \
            gv_facts.flags |= GV_RECORD_HAS_BYTES;)
#define GV_BYTES_IN(pointer, value) GV_WHEN(GV_DONE && (pointer), GV_BYTES(value))
/* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD and the runtime's are 4. UINT64_MAX, which programs set to keep
 * all, would not fit into sums. */
#define GV_THRESHOLD_MOST (UINT64_C(1) << 48)
#define GV_THRESHOLD(attribute, value)                                                             \
    GV_WHEN(GV_DONE && (attribute) == 4 && (value),                                                \
            GV_BYTES(*(const uint64_t *)(value) < GV_THRESHOLD_MOST ? *(const uint64_t *)(value)   \
                                                                    : GV_THRESHOLD_MOST))
#define GV_KERNEL(handle) GV_WHEN(gv_phase != GV_BEGUN, gv_facts.kernel = GV_BITS(handle);)
#define GV_OBJECT(handle) GV_WHEN(gv_phase != GV_BEGUN, gv_facts.object = GV_BITS(handle);)
#define GV_MADE(pointer)  GV_WHEN(GV_DONE && (pointer), gv_facts.object = GV_BITS(*(pointer));)

#define GV_MADE_IN(pointer, value) GV_WHEN(GV_DONE && (pointer), gv_facts.object = GV_BITS(value);)
/* In the place of the stream. */
#define GV_SECOND(value)                                                                           \
    GV_WHEN(gv_phase == GV_AFTER, gv_facts.stream = GV_BITS(value);                                \
            gv_facts.flags |= GV_RECORD_HAS_SECOND;)
#define GV_SECOND_IN(pointer, value) GV_WHEN(GV_DONE && (pointer), GV_SECOND(value))
#define GV_LOCATION(type, id)        GV_MEMORY_LOCATION(type, id)
/* What a row of a pitched allocation takes. */
#define GV_PITCHED(pitch, width) (GV_DONE && (pitch) ? (uint64_t) * (pitch) : (uint64_t)(width))
#define GV_CHANNEL_BYTES(desc)   ((uint64_t)((desc)->x + (desc)->y + (desc)->z + (desc)->w) / 8)

/* A fact of the row, told after the call. */
#define GV_TELL(fact, from)                                                                        \
    gv_facts.what = fact;                                                                          \
    gv_facts.data = from;

#define GV_LOADS(fact, how, made_at, from)                                                         \
    GV_WHEN(gv_phase == GV_AFTER, GV_TELL(fact, from) gv_facts.load_kind = how;)                   \
    GV_WHEN(GV_DONE && (made_at), gv_facts.made = gv_facts.object = GV_BITS(*(made_at));)
#define GV_LOADS_IMAGE(how, made_at, image) GV_LOADS(GV_FACT_LOADS_IMAGE, how, made_at, image)
#define GV_LOADS_FILE(how, made_at, path)   GV_LOADS(GV_FACT_LOADS_FILE, how, made_at, path)
#define GV_LINKS_FILE(path)                 GV_LOADS(GV_FACT_LINKS_FILE, GV_LOAD_LINK, (const uint64_t *)NULL, path)
#define GV_LINKS_IMAGE(image, image_bytes, name)                                                   \
    GV_LOADS(GV_FACT_LINKS_IMAGE, GV_LOAD_LINK, (const uint64_t *)NULL, image)                     \
    gv_facts.data_bytes = image_bytes;                                                             \
    gv_facts.label = name;
#define GV_KNOWS(is_new, fact, made_at, of, name)                                                  \
    GV_WHEN(GV_DONE && (made_at) && (is_new),                                                      \
            GV_TELL(fact, name) gv_facts.made = GV_BITS(*(made_at));                               \
            gv_facts.owner = GV_BITS(of);)
#define GV_NAMES(made_at, of, name) GV_KNOWS(true, GV_FACT_NAMES, made_at, of, name)
/* What is known is not told again, so that the call takes the short way: cuBLAS asks for the same
 * handle at each launch. */
#define GV_ALIASES(made_at, known)                                                                 \
    GV_KNOWS(!gv_names_agree(GV_BITS(*(made_at)), GV_BITS(known)), GV_FACT_ALIASES, made_at,       \
             known, NULL)
#define GV_UNLOADS(handle)                                                                         \
    GV_WHEN(gv_phase == GV_BEFORE, gv_facts.module = gv_call_before_unload(GV_BITS(handle));)      \
    GV_WHEN(gv_phase == GV_AFTER, gv_facts.what = GV_FACT_UNLOADS;                                 \
            gv_facts.owner = gv_facts.object = GV_BITS(handle);)

#define GV_MAKES_GRAPH(graph)                                                                      \
    GV_WHEN(gv_phase == GV_BEFORE, gv_call_begins_graph();)                                        \
    GV_WHEN(gv_phase == GV_AFTER, gv_call_made_graph();)                                           \
    GV_WHEN(GV_DONE, gv_graph_tell_nodes(&gv_call, &gv_facts, GV_BITS(graph));)

#define GV_PEERS             GV_WHEN(gv_phase == GV_BEGUN, gv_call_expect_peers(&gv_call);)
#define GV_ON_DEVICE(device) GV_WHEN(GV_DONE, gv_call_made_context(&gv_call, device);)

#define GV_STACK GV_WHEN(gv_phase == GV_AFTER, gv_facts.what = GV_FACT_STACK;)

#define GV_UNLOADS_ALL(context)                                                                    \
    GV_WHEN(gv_phase == GV_BEFORE, gv_call_before_unload_all(GV_BITS(context));)

#define GV_RUNS(is_callback, function, data)                                                       \
    GV_WHEN(gv_phase == GV_BEGUN, gv_host_function_wrap(&gv_call, &gv_facts, is_callback,          \
                                                        (void **)&(function), &(data));)           \
    GV_WHEN(gv_phase == GV_AFTER && result != 0, gv_host_function_unwrap(&gv_facts, data);)
#define GV_HOST_FUNCTION(function, data) GV_RUNS(false, function, data)
#define GV_CALLBACK(function, data)      GV_RUNS(true, function, data)

/* Primary contexts: the object is the context, of calls that end one only if it did end. */
#define GV_RETAINS_PRIMARY(pointer, device)                                                        \
    GV_MADE(pointer)                                                                               \
    GV_ON_DEVICE(device)                                                                           \
    GV_WHEN(GV_DONE && (pointer), gv_primary_note(device, GV_BITS(*(pointer)));)
#define GV_RELEASES_PRIMARY(device)                                                                \
    GV_WHEN(gv_phase == GV_BEFORE && gv_primary_may_end(device),                                   \
            gv_call_before_unload_all(gv_primary_ending(device));)                                 \
    GV_WHEN(GV_DONE, gv_facts.object = gv_primary_released(device);)
#define GV_RESETS_PRIMARY(device)                                                                  \
    GV_UNLOADS_ALL(gv_primary_ending(device))                                                      \
    GV_WHEN(GV_DONE, gv_facts.object = gv_primary_reset(device);)
#define GV_ENDS_GREEN(green) GV_UNLOADS_ALL(gv_green_ending(GV_BITS(green)))
#define GV_MADE_OF_GREEN     GV_WHEN(GV_DONE, gv_green_made_context();)
#define GV_RESETS_CURRENT                                                                          \
    GV_UNLOADS_ALL(0)                                                                              \
    GV_WHEN(gv_phase == GV_BEFORE, gv_facts.object = gv_context_current();)

#define GV_RUN_FACTS(phase, facts)                                                                 \
    {                                                                                              \
        enum { gv_phase = phase };                                                                 \
        facts                                                                                      \
    }

#define GV_DEFINE_HOOK(symbol, kind, type, parameters, arguments, facts)                           \
    type GV_HOOK(symbol) parameters;                                                               \
    type GV_HOOK(symbol) parameters                                                                \
    {                                                                                              \
        struct gv_facts gv_facts = {0};                                                            \
        struct gv_call gv_call;                                                                    \
        type result = (type)0;                                                                     \
        GV_UNWINDABLE;                                                                             \
        gv_call.caller = (uintptr_t)__builtin_return_address(0);                                   \
        gv_call.traits = GV_TRAITS_OF_##kind;                                                      \
        GV_RUN_FACTS(GV_BEFORE, facts)                                                             \
        bool gv_is_made =                                                                          \
            (GV_TRAITS_OF_##kind & GV_TRAIT_SETS_CONTEXT) && gv_call_keeps_context(&gv_facts);     \
        if (gv_is_made) {                                                                          \
            result = ((type(*) parameters)GV_REAL(symbol))arguments;                               \
            if (gv_call_kept_context(&gv_facts, (int32_t)result))                                  \
                return result;                                                                     \
        }                                                                                          \
        gv_call_begin(&gv_call, GV_ID_##symbol, GV_CLASS_OF_##kind, &gv_facts);                    \
        GV_RUN_FACTS(GV_BEGUN, facts)                                                              \
        if (!gv_is_made)                                                                           \
            result = ((type(*) parameters)GV_REAL(symbol))arguments;                               \
        GV_RUN_FACTS(GV_AFTER, facts)                                                              \
        gv_call_end(&gv_call, (int32_t)result, &gv_facts);                                         \
        return result;                                                                             \
    }

/* Where the program's calls enter: the gate (gates.S), or the hook itself. */
#define GV_DECLARE_ENTRY(symbol) extern char GV_GATE(symbol)[];
#define GV_ENTRY(symbol, kind)                                                                     \
    (GV_TRAITS_OF_##kind & GV_TRAIT_SKIPPED ? (void *)GV_GATE(symbol) : (void *)GV_HOOK(symbol))

#endif
