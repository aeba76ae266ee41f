/* What the rows of the ledger lead to. */
#ifndef GV_LEDGER_FINDINGS_H
#define GV_LEDGER_FINDINGS_H

#include "report/analyse/ledger/rows.h"

#define GV_LEDGER_TEXT_BYTES 1024

struct gv_ledger_finding {
    uint32_t lane, what, verdict;
    enum gv_ledger_phase phase;
    int64_t place, stall; /* stall: one that shows it; 0: none of its own */
    int64_t then_place;   /* waits: where else the host then works most of the time; 0: nowhere */
    uint32_t then_what;   /* and what it does there */
    int64_t lost_ns, saves_ns, phase_ns, count; /* saves_ns -1: nothing of itself */
    int64_t exposed_ns, awaited_ns; /* of lost_ns: exposed copies; of these: as in rows */
    double variance;
    bool sampled, is_backward; /* is_backward: launching, by autograd */
    bool with_waits;           /* saves_ns has waits that other findings lose */
    bool keeps_fix;            /* what a stall advises for one call is too little */
    const char *library_work;  /* what a library does again; NULL: nothing known */
    char title[GV_LEDGER_TEXT_BYTES], fix[GV_LEDGER_TEXT_BYTES], then[GV_LEDGER_TEXT_BYTES];
};

struct gv_ledger_findings {
    struct gv_ledger_finding *list; /* in their order */
    size_t count, room;
};

/* 0 or -errno; free list in any case. */
int gv_ledger_findings_make(struct gv_ledger *ledger, struct gv_ledger_rows *rows,
                            struct gv_ledger_findings *findings);

/* tell.c: gives a finding its title, its fix, and what limits then. `most`: the largest of its
 * rows; stack: where that was, or the wait that claims it. 0 or -errno. */
struct gv_ledger_telling {
    struct gv_ledger *ledger;
    struct gv_ledger_rows *rows;
    int64_t kernels, kernel_ns; /* of the lane and phase: how many took how long */
};
int gv_ledger_tell(const struct gv_ledger_telling *telling, struct gv_ledger_finding *finding,
                   const struct gv_ledger_row *most, uint32_t stack);
/* What limits without it. */
void gv_ledger_tell_then(const struct gv_ledger *ledger, struct gv_ledger_finding *finding);
/* Names the forward pass in the findings of a phase that are about its backward pass. 0 or -errno.
 */
int gv_ledger_tell_backward(const struct gv_ledger_telling *telling, struct gv_ledger_finding *list,
                            size_t count);

/* Says what may slow both the host's code and kernels: pages of managed memory that move. 0 or
 * -errno. */
int gv_ledger_tell_managed(sqlite3 *trace, struct gv_ledger_finding *finding);

/* calls_at.c: how often a process launches in its whole run, and how often it launches and waits at
 * a line. A wait counts at each line that its stack passes through: that of a hook is the layer's,
 * too. wait_place: the innermost line at which more than half of these waits are; 0 where no line
 * has so many. Returns 0 or -errno. */
#define GV_LEDGER_WAIT_PLACES 16u
struct gv_ledger_calls {
    double launches, launches_here, waits_here;
    int64_t wait_place;
    struct {
        int64_t place;
        double count;
    } waits_at[GV_LEDGER_WAIT_PLACES]; /* the first so many places */
};
int gv_ledger_calls_at(struct gv_ledger *ledger, struct gv_ledger_rows *rows, int64_t process,
                       int64_t place, struct gv_ledger_calls *calls);

/* again.c: says it in words of its own, if the call in which most of the time was is made again in
 * each step. 0 or -errno. */
int gv_ledger_again_say(struct gv_ledger *ledger, struct gv_ledger_finding *finding, int64_t api,
                        int64_t stack);

/* beside.c: what is in no account. 0 or -errno. */
int gv_ledger_beside_find(struct gv_ledger *ledger, const struct gv_ledger_rows *rows,
                          struct gv_ledger_findings *findings);

/* restarts.c: what it costs that a program is started again for each task. 0 or -errno. */
int gv_ledger_restarts_find(struct gv_ledger *ledger, struct gv_ledger_findings *findings);

/* store.c: 0 or -errno. The lanes are stored first: what is said of one asks for the others. */
int gv_ledger_lanes_store(struct gv_ledger *ledger);
int gv_ledger_store(struct gv_ledger *ledger, const struct gv_ledger_rows *rows,
                    const struct gv_ledger_findings *findings);

#endif
