/* When the time of each cell of the ledger was, by minute: for the view ledger_minutes. Of each
 * cell the last minute is in memory, earlier ones are in a temporary table. */
#ifndef GV_LEDGER_MINUTES_H
#define GV_LEDGER_MINUTES_H

#include "report/analyse/ledger/run.h"

/* Books a time in a cell, or takes it back. 0 or -errno. */
int gv_ledger_minutes_book(struct gv_ledger *ledger, size_t cell, int64_t from_ns, int64_t to_ns,
                           int count, bool is_back);

/* Moves so much of what was booked last, if that was in this minute. 0 or -errno. */
int gv_ledger_minutes_claim(struct gv_ledger *ledger, size_t from, size_t to, int64_t ns);

/* Notes that so much of a cell is in a row of the ledger. 0 or -errno. */
int gv_ledger_minutes_deal(struct gv_ledger *ledger, size_t cell, size_t row, int64_t ns);

/* When the rows are stored: stores the largest of each minute, and the rest by account. 0 or
 * -errno. */
int gv_ledger_minutes_store(struct gv_ledger *ledger);

void gv_ledger_minutes_free(struct gv_ledger *ledger);

#endif
