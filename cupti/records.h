/* Translates CUPTI's records into the spool's. Only the module's thread. */
#ifndef GV_CUPTI_RECORDS_H
#define GV_CUPTI_RECORDS_H

#include "cupti/buffers.h"

/* Writes all records of a full buffer into the spool. Returns CUPTI's error if it cannot
 * continue. */
CUptiResult gv_records_read(struct gv_buffer *buffer);

#endif
