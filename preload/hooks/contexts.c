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

static _Atomic uint64_t primaries[DEVICES];

static bool is_known(int device)
{
    return device >= 0 && device < DEVICES;
}

void gv_primary_note(int device, uint64_t context)
{
    if (is_known(device))
        atomic_store(&primaries[device], context);
}

uint64_t gv_primary_reset(int device)
{
    return is_known(device) ? atomic_exchange(&primaries[device], 0) : 0;
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

/* The contexts whose device is recorded, by a part of the handle. Two that share a cell are
 * recorded again and again, which does no harm. */
#define CELLS 64
static _Atomic uint64_t told[CELLS];

static _Atomic uint64_t *told_place(uint64_t context)
{
    return &told[(context >> 4 ^ context >> 12) % CELLS];
}

int gv_context_device_to_tell(uint64_t context)
{
    int device = -1, result;

    if (!gv_driver_calls.context_get_device || atomic_load(told_place(context)) == context)
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
