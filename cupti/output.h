/*
 * The module's thread as a thread of the spool. Only that thread uses it.
 *
 * It can wait where the program's threads cannot: when the spool is half full, it waits for the
 * collector, half a second at most. Then it goes on as the program's threads do, down to the
 * reserve; what finds no room is counted as lost.
 */
#ifndef GV_CUPTI_OUTPUT_H
#define GV_CUPTI_OUTPUT_H

#include "trace/spool_writer.h"

#include <stdbool.h>
#include <stdint.h>

void gv_output_start(struct gv_spool_writer *spool);

/* Room for one record, zeroed; or NULL: it is lost, and counted. gv_output_publish() must follow.
 */
union gv_record *gv_output_next(void);
void gv_output_publish(void);

/* Text in as many TEXT records as it takes; the last one ends the group. False: not all of it. */
bool gv_output_text(const char *text, uint32_t bytes);

/* One more record that is not there. Any thread. */
void gv_output_count_lost(void);

/* From now on nothing waits. */
void gv_output_hurry(void);

/* No more records will come. */
void gv_output_close(void);

#endif
