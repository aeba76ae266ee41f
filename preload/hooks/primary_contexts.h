/*
 * The devices' primary contexts: calls that end one name the device, and its memory is told by the
 * context. Any thread.
 */
#ifndef GV_HOOKS_PRIMARY_CONTEXTS_H
#define GV_HOOKS_PRIMARY_CONTEXTS_H

#include <stdint.h>

/* The device's is this one from now on. */
void gv_primary_note(int device, uint64_t context);
/* It has been reset: the context that ended; 0: unknown. */
uint64_t gv_primary_reset(int device);
/* A use of it was given up: the context that ended with its last one; 0: none did, or unknown. */
uint64_t gv_primary_released(int device);
/* Before the current device is reset: the context that is current; 0: none. */
uint64_t gv_primary_current(void);

#endif
