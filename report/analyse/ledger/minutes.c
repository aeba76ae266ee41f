/* When the time of each cell was, by minute. */
#include "report/analyse/ledger/minutes.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/store/database.h"

#define MINUTE_NS INT64_C(60000000000)
/* A longer piece, of 45 days, counts where it begins. */
#define MINUTES_MOST INT64_C(65536)

static int begin(struct gv_ledger *ledger)
{
    int error =
        ledger->minutes.add ? 0 : gv_database_script(ledger->trace, sql_minutes_begin, NULL, 0);

    if (!error && !ledger->minutes.add)
        error = gv_database_compile(ledger->trace, sql_add_minute, &ledger->minutes.add);
    if (!error && !ledger->minutes.deal)
        error = gv_database_compile(ledger->trace, sql_deal, &ledger->minutes.deal);
    return error;
}

/* What is known of a cell's last minute. */
static int flush(struct gv_ledger *ledger, size_t number)
{
    struct gv_ledger_cell *cell = &ledger->cells[number];
    const bool is_idle = gv_ledger_is_idle(cell->what) && (cell->what != GV_ACCOUNT_UNKNOWN ||
                                                           ledger->lanes[cell->lane].device >= 0);
    const int64_t values[] = {(int64_t)number,       cell->minute.at,    cell->minute.ns,
                              cell->minute.first_ns, cell->minute.count, is_idle};
    int error = cell->minute.ns ? begin(ledger) : 0;

    if (!error && cell->minute.ns)
        error = gv_database_add(ledger->minutes.add, values, 6);
    cell->minute = (struct gv_ledger_minute){.at = cell->minute.at};
    return error;
}

static int64_t before(int64_t from_ns, int64_t to_ns, int64_t end_ns)
{
    return from_ns >= end_ns ? 0 : (to_ns < end_ns ? to_ns : end_ns) - from_ns;
}

int gv_ledger_minutes_book(struct gv_ledger *ledger, size_t number, int64_t from_ns, int64_t to_ns,
                           int count, bool is_back)
{
    struct gv_ledger_minute *minute = &ledger->cells[number].minute;
    const bool is_long = to_ns - from_ns > MINUTES_MOST * MINUTE_NS;
    int error = 0;

    from_ns = from_ns > ledger->minutes.from_ns ? from_ns : ledger->minutes.from_ns;
    while (from_ns < to_ns && !error) {
        const int64_t at = from_ns / MINUTE_NS, sign = is_back ? -1 : 1;
        const int64_t ns = is_long ? to_ns - from_ns : before(from_ns, to_ns, (at + 1) * MINUTE_NS);
        if (minute->at != at)
            error = flush(ledger, number);
        minute->at = at;
        minute->ns += sign * ns;
        minute->first_ns += sign * before(from_ns, to_ns, at * MINUTE_NS + MINUTE_NS / 2);
        minute->count += count;
        count = 0;
        from_ns += ns;
    }
    return error;
}

int gv_ledger_minutes_claim(struct gv_ledger *ledger, size_t from, size_t to, int64_t ns)
{
    struct gv_ledger_minute *of = &ledger->cells[from].minute, *claimed = &ledger->cells[to].minute;
    const double share = of->ns > 0 ? (double)(ns < of->ns ? ns : of->ns) / (double)of->ns : 0;
    const struct gv_ledger_minute part = {.ns = of->ns < ns ? of->ns : ns,
                                          .first_ns = (int64_t)((double)of->first_ns * share),
                                          .count = (int64_t)((double)of->count * share)};
    ledger->cells[from].claimed = (uint32_t)to + 1;
    int error = part.ns > 0 && claimed->at != of->at ? flush(ledger, to) : 0;

    if (error || part.ns <= 0)
        return error;
    claimed->at = of->at;
    of->ns -= part.ns;
    of->first_ns -= part.first_ns;
    of->count -= part.count;
    claimed->ns += part.ns;
    claimed->first_ns += part.first_ns;
    claimed->count += part.count;
    return 0;
}

int gv_ledger_minutes_deal(struct gv_ledger *ledger, size_t number, size_t row, int64_t ns)
{
    const struct gv_ledger_cell *cell = &ledger->cells[number];
    const int64_t values[] = {cell->group ? (int64_t)cell->group - 1 : (int64_t)number,
                              (int64_t)row + 1, ns};
    int error = begin(ledger);

    return error ? error : gv_database_add(ledger->minutes.deal, values, 3);
}

int gv_ledger_minutes_store(struct gv_ledger *ledger)
{
    int error = 0;

    for (size_t i = 0; i < ledger->cell_count && !error; i++) {
        const struct gv_ledger_cell *cell = &ledger->cells[i];
        /* What is left of one that was claimed as a whole was in earlier minutes. */
        const int64_t values[] = {(int64_t)i,
                                  (int64_t)(cell->total_ns > 0 ? cell->group : cell->claimed) - 1};
        error = flush(ledger, i);
        if (!error && values[1] >= 0)
            error = gv_database_script(ledger->trace, sql_minutes_group, values, 2);
    }
    bool some = ledger->minutes.add != NULL;
    gv_ledger_minutes_free(ledger);
    return error || !some ? error : gv_database_script(ledger->trace, sql_minutes_store, NULL, 0);
}

void gv_ledger_minutes_free(struct gv_ledger *ledger)
{
    sqlite3_finalize(ledger->minutes.add);
    sqlite3_finalize(ledger->minutes.deal);
    ledger->minutes.add = ledger->minutes.deal = NULL;
}
