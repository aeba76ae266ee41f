/* The rows of the ledger: its cells by line of the program. */
#ifndef GV_LEDGER_ROWS_H
#define GV_LEDGER_ROWS_H

#include "report/analyse/ledger/run.h"
#include "report/analyse/names/places.h"

struct gv_ledger_row {
    uint32_t lane, what;
    uint32_t phase;         /* enum gv_ledger_phase */
    int64_t place, claimed; /* rows of place; 0: not known, nobody */
    int64_t total_ns, first_ns, count;
    int64_t before_copy_ns, awaited_ns; /* of total_ns: as in the cells */
    double variance;                    /* of total_ns */
    double error_ns; /* the same, of what samples say of the GPU, which errs alike in all cells */
    bool borrowed;   /* the line is where the first thread waits for this one */
    bool sampled;    /* a part of it was told by looks or stacks of others */
    uint32_t stack, claimed_stack, verdict; /* of its largest part; verdict: + 1 */
    uint32_t api;       /* of the call that waited, or in which the time was; 0: none */
    uint32_t cell_pair; /* of most of it: the calls around it, by which a sample of GPM knows it */
    uint32_t pair; /* of native code without a line of its own: the calls before and after it; 0:
                      other */
    int64_t most_ns;
};

struct gv_ledger_rows {
    struct gv_ledger_row *rows;
    size_t count, room;
    struct gv_key_map numbers; /* of rows */
    struct gv_places places;
};

/* A part of a cell, as its row has it. */
struct gv_ledger_share {
    uint32_t what, stack, verdict; /* verdict: + 1 */
    int64_t place;
    double share; /* of the cell */
    double seen;  /* looks that say so */
};

/* Deals an amount out by shares, so that all parts together are the amount. */
struct gv_ledger_deal {
    int64_t amount, given;
    double share; /* dealt so far */
};

static inline int64_t gv_ledger_deal(struct gv_ledger_deal *deal, double share, bool is_last)
{
    int64_t until, given = deal->given;

    deal->share += share;
    until = is_last ? deal->amount : (int64_t)((double)deal->amount * deal->share);
    until = until < deal->amount ? until : deal->amount;
    deal->given = until > given ? until : given;
    return deal->given - given;
}

#define GV_LEDGER_SHARES_MOST 16u

/* split.c: the largest shares of a cell; together they are 1. 0 or -errno. */
int gv_ledger_shares(struct gv_ledger *ledger, struct gv_ledger_rows *rows,
                     const struct gv_ledger_cell *cell,
                     struct gv_ledger_share shares[GV_LEDGER_SHARES_MOST], size_t *count);

/* split.c: the line that makes more than half of the calls with which a pair begins; 0: no line
 * does, or it is unknown. 0 or -errno. */
int gv_ledger_place_before(struct gv_ledger *ledger, struct gv_ledger_rows *rows, uint32_t pair,
                           int64_t *place);

/* split.c: 0 or -errno; free *rows in any case. */
int gv_ledger_split(struct gv_ledger *ledger, struct gv_ledger_rows *rows);
void gv_ledger_rows_free(struct gv_ledger_rows *rows);

#endif
