/* When the time of each cell of the ledger was, by minute: for the view ledger_minutes. A cell has
 * a list of minutes, whose times add up to its total. */
#ifndef GV_LEDGER_MINUTES_H
#define GV_LEDGER_MINUTES_H

#include "report/analyse/ledger/rows.h"

/* Books a time, or takes it back, in a list, whose head is *head. 0 or -errno. */
int gv_ledger_minutes_book(struct gv_ledger *ledger, uint32_t *head, int64_t from_ns, int64_t to_ns,
                           int count, bool is_back);

/* Moves as much from one list to another; latest: of the last minutes, else of each in proportion.
 * 0 or -errno. */
int gv_ledger_minutes_move(struct gv_ledger *ledger, uint32_t *from, uint32_t *to, int64_t ns,
                           bool latest);

/* Notes that so much of a cell is in a row: the next cell has none until all of this one is. 0 or
 * -errno. */
int gv_ledger_minutes_deal(struct gv_ledger *ledger, struct gv_ledger_cell *cell, uint32_t row,
                           int64_t ns);

/* Stores the largest rows of each minute, and the rest by account. 0 or -errno. */
int gv_ledger_minutes_store(const struct gv_ledger *ledger, const struct gv_ledger_rows *rows);

void gv_ledger_minutes_free(struct gv_ledger *ledger);

#endif
