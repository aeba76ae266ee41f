/*
 * Maps addresses of the mapped driver to calls of the table.
 *
 * Looking up is lock-free, on any thread. Adding and forgetting is for one thread at a time.
 */
#ifndef GV_BIND_DRIVER_ADDRESSES_H
#define GV_BIND_DRIVER_ADDRESSES_H

void gv_driver_addresses_add(void *address, int api);
void gv_driver_addresses_forget(void);

/* The number of the driver call at this address, or -1. While another driver replaces this one,
 * it may be the number of another call: the caller must compare. */
int gv_driver_addresses_find(void *address);

#endif
