/* What limited a lane's device while it was busy (uses.c). */
#ifndef GV_LEDGER_USES_H
#define GV_LEDGER_USES_H

#include "report/analyse/ledger/run.h"

/* Of a phase of a lane, or of its run. */
struct gv_ledger_used {
    int64_t samples, busy_ns;     /* that count, and the busy time in them */
    int64_t means[GV_USE_VALUES]; /* tenths of a percent; below 0: not known */
    int64_t kind_ns, slowed_ns;   /* of that: as `words` says; slowed down by `slowed_by` */
    const char *advice, *slowed_by, *slowed_advice; /* slowed_by NULL: not most of the time */
    uint64_t of; /* the call whose work most samples of that kind saw; 0: several */
    int64_t clock_mhz, clock_most_mhz; /* of the SMs, on average; the highest; 0: not known */
    char words[256];                   /* "": too few samples */
};

/* Reads the samples of all lanes. 0 or -errno. */
int gv_ledger_uses_read(struct gv_ledger *ledger);
/* A piece of busy time, almost in the order of time; is_back: of a collective, now another's. */
void gv_ledger_use_note(struct gv_ledger *ledger, uint32_t lane,
                        const struct gv_ledger_piece *piece, bool is_back);
/* Who else was on the devices, once the lanes are in their table. 0 or -errno. */
int gv_ledger_uses_share(struct gv_ledger *ledger);
/* After that. phase: enum gv_ledger_phase, or GV_LEDGER_PHASES: all. 0 or -errno. */
int gv_ledger_use_sum(const struct gv_ledger *ledger, uint32_t lane, unsigned phase,
                      struct gv_ledger_used *used);

#endif
