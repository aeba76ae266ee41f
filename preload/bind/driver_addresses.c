#include "preload/bind/driver_addresses.h"

#include "trace/call_table.h"

#include <stdatomic.h>
#include <stdint.h>

#define CELLS 1024u

_Static_assert(GV_DRIVER_COUNT * 2 < CELLS, "at most half full");

static struct {
    _Atomic uintptr_t address;
    _Atomic int api;
} cells[CELLS];

static uint32_t hash_of(uintptr_t address)
{
    return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 40);
}

void gv_driver_addresses_add(void *address, int api)
{
    uint32_t cell = hash_of((uintptr_t)address);

    while (atomic_load(&cells[cell % CELLS].address))
        cell++;
    atomic_store(&cells[cell % CELLS].api, api);
    atomic_store(&cells[cell % CELLS].address, (uintptr_t)address);
}

void gv_driver_addresses_forget(void)
{
    for (uint32_t cell = 0; cell < CELLS; cell++)
        atomic_store(&cells[cell].address, 0);
}

int gv_driver_addresses_find(void *address)
{
    for (uint32_t cell = hash_of((uintptr_t)address);; cell++) {
        uintptr_t found = atomic_load(&cells[cell % CELLS].address);

        if (found == (uintptr_t)address)
            return atomic_load(&cells[cell % CELLS].api);
        if (!found)
            return -1;
    }
}
