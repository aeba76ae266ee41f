/*
 * The devices' primary contexts: calls that end one name the device, while memory is recorded by
 * context. Any thread.
 */
#ifndef GV_HOOKS_PRIMARY_CONTEXTS_H
#define GV_HOOKS_PRIMARY_CONTEXTS_H

#include <stdint.h>

/* Notes the device's primary context. */
void gv_primary_note(int device, uint64_t context);
/* The device was reset: returns the context that ended; 0: unknown. */
uint64_t gv_primary_reset(int device);
/* One use was released: returns the context that ended with the last use; 0: none did, or
 * unknown. */
uint64_t gv_primary_released(int device);
/* Before the current device is reset: the current context; 0: none. */
uint64_t gv_primary_current(void);

#endif
