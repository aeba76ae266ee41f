/* How often the program launches and waits at a line, by the calls that were chosen at random. */
#include "report/analyse/ledger/findings.h"

#include "report/analyse/names/places.h"
#include "report/analyse_ledger_ledger.inc"
#include "report/store/database.h"
#include "trace/call_table.h"

/* Whether a stack passes through the line of a place. */
static int passes(struct gv_ledger *ledger, int64_t stack, int64_t place, bool *does)
{
    int64_t found = 0;
    int error =
        gv_database_number(ledger->trace, sql_passes, (const int64_t[]){stack, place}, 2, &found);

    *does = found != 0;
    return error;
}

static void count_wait(struct gv_ledger_calls *calls, int64_t place, double weight)
{
    size_t at = 0;

    while (at < GV_LEDGER_WAIT_PLACES && calls->waits_at[at].count > 0 &&
           calls->waits_at[at].place != place)
        at++;
    if (at == GV_LEDGER_WAIT_PLACES)
        return;
    calls->waits_at[at].place = place;
    calls->waits_at[at].count += weight;
}

/* Where more than half of the waits are. */
static int64_t most_waits(const struct gv_ledger_calls *calls)
{
    for (size_t i = 0; i < GV_LEDGER_WAIT_PLACES; i++)
        if (calls->waits_at[i].count > calls->waits_here / 2)
            return calls->waits_at[i].place;
    return 0;
}

static int count_pair(struct gv_ledger *ledger, struct gv_ledger_rows *rows,
                      const struct gv_ledger_pair *pair, int64_t place,
                      struct gv_ledger_calls *calls)
{
    uint32_t api = GV_LEDGER_API(pair->after);
    bool launches = gv_ledger_api(ledger, api, 1) != 0;
    int error = 0;

    if (!launches && gv_ledger_api(ledger, api, 0) != GV_CLASS_SYNC)
        return 0;
    for (uint32_t at = pair->tallies; at && !error; at = ledger->tallies[at - 1].next) {
        const struct gv_ledger_tally *tally = &ledger->tallies[at - 1];
        int64_t here;
        bool is_here;
        if (tally->verdict || tally->weight <= 0)
            continue;
        error = gv_place_of_stack(ledger->trace, &rows->places, tally->stack, &here);
        calls->launches += launches ? tally->weight : 0;
        is_here = here == place;
        if (!error && !launches && !is_here)
            error = passes(ledger, tally->stack, place, &is_here);
        if (error || !is_here)
            continue;
        *(launches ? &calls->launches_here : &calls->waits_here) += tally->weight;
        if (!launches)
            count_wait(calls, here, tally->weight);
    }
    return error;
}

int gv_ledger_calls_at(struct gv_ledger *ledger, struct gv_ledger_rows *rows, int64_t process,
                       int64_t place, struct gv_ledger_calls *calls)
{
    int error = 0;

    *calls = (struct gv_ledger_calls){0};
    for (size_t i = 1; i < ledger->pair_count && !error; i++) {
        const struct gv_ledger_pair *pair = &ledger->pairs[i];
        /* Other pairs count the same again. */
        if (pair->before != GV_LEDGER_ANY && ledger->threads[pair->thread].process == process)
            error = count_pair(ledger, rows, pair, place, calls);
    }
    calls->wait_place = most_waits(calls);
    return error;
}
