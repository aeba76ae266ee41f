/* What copies between the host and the device cost, for which the next kernels wait: what would be
 * saved if they ran beside kernels. */
#include "report/analyse/ledger/run.h"

#define LEAST_SHARE 20 /* of the phase: with less than a twentieth, a second buffer is too much */
#define LEAST_COUNT 4  /* fewer are no loop */

/* In the main phase. A step then takes as long as its copies, its kernels, or the host's own work,
 * whichever is longest. So that saves at most the time of copies alone, of kernels without copies
 * beside them, and that the host waited. The share of the first that it saves. */
static double share_saved(const struct gv_ledger *ledger, uint32_t number)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[number];
    int64_t phase_ns = 0, exposed_ns = 0, count = 0;
    int64_t saves_ns = lane->copies_alone_ns - lane->copies_ns; /* kernels, but beside copies */

    for (size_t i = 0; i < ledger->cell_count; i++) {
        const struct gv_ledger_cell *cell = &ledger->cells[i];
        if (cell->lane != number || cell->phase != GV_LEDGER_MAIN)
            continue;
        if (cell->what >= GV_ACCOUNTS || gv_account_say(cell->what).group != GV_ACCOUNT_ASIDE)
            phase_ns += cell->total_ns;
        saves_ns += cell->what <= GV_ACCOUNT_COLLECTIVE ? cell->total_ns : 0;
        exposed_ns += cell->what == GV_ACCOUNT_COPY_EXPOSED ? cell->total_ns : 0;
        count += cell->what == GV_ACCOUNT_COPY_EXPOSED ? cell->count : 0;
    }
    saves_ns = saves_ns < exposed_ns ? saves_ns : exposed_ns;
    saves_ns = saves_ns < lane->host_waits_ns ? saves_ns : lane->host_waits_ns;
    if (count < LEAST_COUNT || 2 * count < lane->steps || saves_ns < phase_ns / LEAST_SHARE)
        return 0;
    return (double)saves_ns / (double)exposed_ns;
}

void gv_ledger_copies_judge(struct gv_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->lane_count; i++)
        ledger->lanes[i].copies_save = ledger->only_minutes ? 0 : share_saved(ledger, i);
    for (size_t i = 0; i < ledger->cell_count; i++) {
        struct gv_ledger_cell *cell = &ledger->cells[i];
        if (cell->what == GV_ACCOUNT_COPY_EXPOSED &&
            (cell->phase != GV_LEDGER_MAIN || ledger->lanes[cell->lane].copies_save <= 0))
            cell->what = GV_ACCOUNT_COPY;
    }
}
