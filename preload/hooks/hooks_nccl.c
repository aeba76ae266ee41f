/* The hooks of NCCL's calls, made from the table. */
#include "preload/bind/cuda_headers.h"
#include "preload/bind/nccl_headers.h"

#include "preload/bind/entry_points.h"
#include "preload/hooks/communicators.h"
#include "preload/hooks/hook_macros.h"

#define GV_HOOK(symbol) gv_hook_##symbol
#define GV_REAL(symbol) gv_real_nccl[GV_ID_##symbol - GV_CUDA_COUNT]

#define GV_API_NO_DRIVER
#define GV_API_NO_RUNTIME

#define GV_COLLECTIVE(kind, comm, elements, type, peer)                                            \
    GV_WHEN(gv_phase == GV_AFTER,                                                                  \
            gv_collective_note(&gv_facts, (int)result, GV_BITS(comm), GV_COLLECTIVE_##kind,        \
                               (uint64_t)(elements), (int)(type), (int)(peer));)
/* Inside a group too, NCCL (2.28) writes the handle before the call returns; that of a split only
 * at the end of the group, so its collectives are not recorded. */
#define GV_MAKES_COMM(pointer, id, size, rank)                                                     \
    GV_MADE(pointer)                                                                               \
    GV_WHEN(gv_phase == GV_AFTER && (pointer),                                                     \
            gv_communicator_note((int)result, GV_BITS(*(pointer)), (id).internal, size, rank);)
#define GV_MAKES_COMMS(pointer, count)                                                             \
    GV_WHEN(gv_phase == GV_AFTER,                                                                  \
            gv_communicators_note((int)result, (void *const *)(pointer), count);)
#define GV_SPLITS_COMM(pointer, parent, colour)                                                    \
    GV_MADE(pointer)                                                                               \
    GV_WHEN(gv_phase == GV_AFTER && (pointer),                                                     \
            gv_communicator_split((int)result, GV_BITS(*(pointer)), GV_BITS(parent), colour);)
/* Before the real call, because another thread may get the handle as soon as it is free. */
#define GV_ENDS_COMM(comm)                                                                         \
    GV_OBJECT(comm)                                                                                \
    GV_WHEN(gv_phase == GV_BEFORE, gv_communicator_forget(GV_BITS(comm));)

/* The header must declare every row with the same types; an older one lacks some. */
#define GV_API(symbol, kind, type, parameters, arguments, facts) extern type symbol parameters;
#include "trace/calls.inc"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    GV_DEFINE_HOOK(symbol, kind, type, parameters, arguments, facts)
#include "trace/calls.inc"

/* All of them are followed while recording is stopped, so they need no gate. */
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    _Static_assert(!(GV_TRAITS_OF_##kind & GV_TRAIT_SKIPPED), #symbol);
#include "trace/calls.inc"

#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    [GV_ID_##symbol - GV_CUDA_COUNT] = (void *)GV_HOOK(symbol),
void *const gv_hooks_nccl[GV_NCCL_COUNT] = {
#include "trace/calls.inc"
};
