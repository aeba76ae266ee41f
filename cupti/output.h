/*
 * The module's thread as a writer of the spool. Only that thread uses it.
 *
 * Unlike the program's threads, it may wait: when the spool is half full, it waits up to half a
 * second for the collector. Then it uses the rest down to the reserve. Records without room are
 * counted as lost.
 */
#ifndef GV_CUPTI_OUTPUT_H
#define GV_CUPTI_OUTPUT_H

#include "trace/spool_writer.h"

#include <stdbool.h>
#include <stdint.h>

void gv_output_start(struct gv_spool_writer *spool);

/* False: the record is lost and counted. */
bool gv_output_write(const union gv_record *record);

/* Writes a text in as many TEXT records as needed; the last one ends the group. False: not all
 * of it was written. */
bool gv_output_text(const char *text, uint32_t bytes);

/* Counts one lost record. Any thread. */
void gv_output_count_lost(void);

/* Counts what gpuverify itself costs. Any thread, also signal handlers. */
void gv_output_count_cost(enum gv_own_cost what, uint64_t duration_ns);

/* From now on nothing waits. */
void gv_output_hurry(void);

#endif
