/*
 * Contexts and their devices. Of the primary ones: calls that end one name the device, while memory
 * is recorded by context. Any thread.
 */
#include "preload/hooks/facts.h"

#include "preload/base/own_work.h"
#include "preload/bind/entry_points.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define DEVICES 64

static struct {
    _Atomic uint64_t context;
    _Atomic uint32_t uses; /* that we know of: as many as there are, or fewer */
} primaries[DEVICES];

static bool is_known(int device)
{
    return device >= 0 && device < DEVICES;
}

void gv_primary_note(int device, uint64_t context)
{
    if (!is_known(device))
        return;
    atomic_store(&primaries[device].context, context);
    atomic_fetch_add(&primaries[device].uses, 1);
}

bool gv_primary_may_end(int device)
{
    uint32_t uses = is_known(device) ? atomic_load(&primaries[device].uses) : 0;

    while (uses > 0 && !atomic_compare_exchange_weak(&primaries[device].uses, &uses, uses - 1))
        continue;
    return uses <= 1;
}

uint64_t gv_primary_reset(int device)
{
    if (!is_known(device))
        return 0;
    atomic_store(&primaries[device].uses, 0);
    return atomic_exchange(&primaries[device].context, 0);
}

uint64_t gv_primary_released(int device)
{
    unsigned flags = 0;
    int active = 1, result;

    if (!gv_driver_calls.primary_context_get_state)
        return 0;
    int saved_errno = gv_own_work_begin();
    result = gv_driver_calls.primary_context_get_state(device, &flags, &active);
    gv_own_work_end(saved_errno);
    return result == 0 && !active ? gv_primary_reset(device) : 0;
}

static _Atomic bool greens_are_contexts;

void gv_green_made_context(void)
{
    atomic_store(&greens_are_contexts, true);
}

uint64_t gv_green_ending(uint64_t green)
{
    return atomic_load(&greens_are_contexts) ? 0 : green;
}

uint64_t gv_primary_ending(int device)
{
    return is_known(device) ? gv_green_ending(atomic_load(&primaries[device].context)) : 0;
}

/* The contexts whose device is recorded, by a part of the handle. Two that share a cell are
 * recorded again and again, which does no harm. */
#define CELLS 1024
static _Atomic uint64_t told[CELLS];

static _Atomic uint64_t *told_place(uint64_t context)
{
    return &told[(context >> 4 ^ context >> 12) % CELLS];
}

bool gv_context_is_told(uint64_t context)
{
    return atomic_load_explicit(told_place(context), memory_order_relaxed) == context;
}

int gv_context_device_to_tell(uint64_t context)
{
    int device = -1, result;

    if (!gv_driver_calls.context_get_device || gv_context_is_told(context))
        return -1;
    int saved_errno = gv_own_work_begin();
    result = gv_driver_calls.context_get_device(&device);
    gv_own_work_end(saved_errno);
    if (result != 0 || device < 0)
        return -1;
    atomic_store(told_place(context), context);
    return device;
}

void gv_contexts_void(void)
{
    for (size_t i = 0; i < CELLS; i++)
        atomic_store_explicit(&told[i], 0, memory_order_relaxed);
}

uint64_t gv_context_current(void)
{
    void *context = NULL;

    if (!gv_driver_calls.context_get_current)
        return 0;
    int saved_errno = gv_own_work_begin();
    if (gv_driver_calls.context_get_current(&context) != 0)
        context = NULL;
    gv_own_work_end(saved_errno);
    return (uint64_t)(uintptr_t)context;
}
