/* CUPTI's records, as the spool keeps them. Only the module's thread. */
#ifndef GV_CUPTI_RECORDS_H
#define GV_CUPTI_RECORDS_H

#include "cupti/buffers.h"

/* Writes everything that stands in a full buffer into the spool. What CUPTI says if it cannot go on
 * before the end. */
CUptiResult gv_records_read(struct gv_buffer *buffer);

#endif
