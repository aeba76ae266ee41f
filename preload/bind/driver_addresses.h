/*
 * Which call of the table lives at an address of the mapped driver.
 *
 * Looking one up is lock-free, on any thread; adding and forgetting is for one thread at a time.
 */
#ifndef GV_BIND_DRIVER_ADDRESSES_H
#define GV_BIND_DRIVER_ADDRESSES_H

void gv_driver_addresses_add(void *address, int api);
void gv_driver_addresses_forget(void);

/* Of a driver's call, its number; else -1. While another driver takes this one's place, it may be
 * the number of another call: the caller compares. */
int gv_driver_addresses_find(void *address);

#endif
