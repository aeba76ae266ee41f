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

/* The place of most: two different ones cancel each other. */
static void vote(struct gv_ledger_calls *calls, int64_t place, double weight)
{
    if (calls->wait_votes < weight && calls->wait_place != place) {
        calls->wait_votes = weight - calls->wait_votes;
        calls->wait_place = place;
    } else {
        calls->wait_votes += calls->wait_place == place ? weight : -weight;
    }
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
            vote(calls, here, tally->weight);
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
    return error;
}
