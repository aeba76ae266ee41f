/*
 * Which calls were made while recording was stopped, by CUPTI's numbers: of the last stops, the
 * first and the last of them. Their work may run when recording is on again.
 */
#ifndef GV_CUPTI_UNRECORDED_H
#define GV_CUPTI_UNRECORDED_H

#include <stdbool.h>
#include <stdint.h>

/* `stop`: the number of the change that stopped recording, which is odd. Any thread. */
void gv_unrecorded_note(uint32_t stop, uint32_t number);

/* Numbers come again after 2^32 calls, so a stop is forgotten when asked for a number that is far
 * past it. Only the module's thread. */
bool gv_unrecorded_has(uint32_t number);

#endif
