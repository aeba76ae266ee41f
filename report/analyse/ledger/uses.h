/* How full a lane's device was while it was busy (uses.c). */
#ifndef GV_LEDGER_USES_H
#define GV_LEDGER_USES_H

#include "report/analyse/ledger/run.h"

/* Of a phase of a lane, or of its run. */
struct gv_ledger_used {
    int64_t samples, busy_ns;     /* that count, and the busy time in them */
    int64_t means[GV_USE_VALUES]; /* tenths of a percent; below 0: not known */
    int64_t kind_ns, held_ns;     /* of that: as `words` says; clocks held down by `held` */
    const char *advice, *held, *held_advice; /* held NULL: not most of the time */
    char words[256];                         /* "": too few samples */
};

/* Reads the samples of all lanes. 0 or -errno. */
int gv_ledger_uses_read(struct gv_ledger *ledger);
/* A piece of busy time, almost in the order of time. */
void gv_ledger_use_note(struct gv_ledger *ledger, uint32_t lane,
                        const struct gv_ledger_piece *piece);
/* phase: enum gv_ledger_phase, or GV_LEDGER_PHASES: all. 0 or -errno. */
int gv_ledger_use_sum(const struct gv_ledger *ledger, uint32_t lane, unsigned phase,
                      struct gv_ledger_used *used);

#endif
