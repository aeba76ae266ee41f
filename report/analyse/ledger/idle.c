/* The idle times one by one: the longest have rows of their own in idle_time, by what they were;
 * all others are a row for each account and line. */
#include "report/analyse/ledger/rows.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdlib.h>

/* Gaps with rows of their own. Up to twice as many wait for the choice. */
#define GAPS_MOST   4096u
#define PIECES_MOST 524288u
/* A smaller part of a gap has no row of its own. */
#define PART_LEAST 50
/* A shorter gap is of no interest by itself: a queue goes on after so much. */
#define LEAST_NS INT64_C(10000)

/* ---- while time is booked ---- */

void gv_ledger_idle_begin(struct gv_ledger *ledger)
{
    if (ledger->idle.least_ns == 0)
        ledger->idle.least_ns = LEAST_NS;
    ledger->idle.is_open = !ledger->only_minutes;
    ledger->idle.at = ledger->idle.piece_count;
}

int gv_ledger_idle_note(struct gv_ledger *ledger, struct gv_ledger_idle_piece piece)
{
    struct gv_ledger_idle_piece *last = ledger->idle.piece_count > ledger->idle.at
                                            ? &ledger->idle.pieces[ledger->idle.piece_count - 1]
                                            : NULL;
    int error;

    piece.looks = ledger->idle.looks;
    ledger->idle.looks = 0;
    if (last && last->cell == piece.cell && last->to_ns == piece.from_ns) {
        last->to_ns = piece.to_ns;
        last->looks += piece.looks;
        return 0;
    }
    error = gv_array_room(&ledger->idle.pieces, ledger->idle.piece_count, &ledger->idle.piece_room,
                          sizeof(*ledger->idle.pieces));
    if (!error)
        ledger->idle.pieces[ledger->idle.piece_count++] = piece;
    return error;
}

static void fold(struct gv_ledger *ledger, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        const struct gv_ledger_idle_piece *piece = &ledger->idle.pieces[i];
        struct gv_ledger_cell *cell = &ledger->cells[piece->cell];
        int64_t ns = piece->to_ns - piece->from_ns;
        cell->idle_ns += ns;
        cell->idle_count++;
        cell->idle_looks += piece->looks;
        if (ns > cell->idle_most_ns) {
            cell->idle_most_ns = ns;
            cell->idle_at_ns = piece->from_ns;
        }
    }
}

static int by_length(const void *left, const void *right)
{
    const struct gv_ledger_idle_gap *one = left, *other = right;

    if (one->ns != other->ns)
        return one->ns > other->ns ? -1 : 1;
    return one->piece < other->piece ? -1 : one->piece > other->piece;
}

static int by_piece(const void *left, const void *right)
{
    const struct gv_ledger_idle_gap *one = left, *other = right;

    return one->piece < other->piece ? -1 : one->piece > other->piece;
}

/* The longest `most` stay. */
static void choose(struct gv_ledger *ledger, size_t most)
{
    size_t kept = 0;

    if (ledger->idle.gap_count <= most)
        return;
    qsort(ledger->idle.gaps, ledger->idle.gap_count, sizeof(*ledger->idle.gaps), by_length);
    for (size_t i = most; i < ledger->idle.gap_count; i++)
        fold(ledger, ledger->idle.gaps[i].piece, ledger->idle.gaps[i].piece_count);
    ledger->idle.least_ns = ledger->idle.gaps[most].ns + 1;
    ledger->idle.gap_count = most;
    qsort(ledger->idle.gaps, most, sizeof(*ledger->idle.gaps), by_piece);
    for (size_t i = 0; i < most; i++) {
        struct gv_ledger_idle_gap *gap = &ledger->idle.gaps[i];
        for (size_t j = 0; j < gap->piece_count; j++)
            ledger->idle.pieces[kept + j] = ledger->idle.pieces[gap->piece + j];
        gap->piece = kept;
        kept += gap->piece_count;
    }
    ledger->idle.piece_count = kept;
}

int gv_ledger_idle_end(struct gv_ledger *ledger, uint32_t lane, int64_t next, bool is_inner)
{
    struct gv_ledger_idle_gap gap = {.lane = lane,
                                     .is_inner = is_inner,
                                     .piece = ledger->idle.at,
                                     .piece_count = ledger->idle.piece_count - ledger->idle.at,
                                     .previous = ledger->lanes[lane].fed_by,
                                     .next = next};
    int error;

    if (!ledger->idle.is_open)
        return 0;
    ledger->idle.is_open = false;
    for (size_t i = gap.piece; i < gap.piece + gap.piece_count; i++)
        gap.ns += ledger->idle.pieces[i].to_ns - ledger->idle.pieces[i].from_ns;
    if (gap.ns < ledger->idle.least_ns) {
        fold(ledger, gap.piece, gap.piece_count);
        ledger->idle.piece_count = gap.piece;
        return 0;
    }
    error = gv_array_room(&ledger->idle.gaps, ledger->idle.gap_count, &ledger->idle.gap_room,
                          sizeof(*ledger->idle.gaps));
    if (error)
        return error;
    ledger->idle.gaps[ledger->idle.gap_count++] = gap;
    if (ledger->idle.gap_count >= 2 * GAPS_MOST)
        choose(ledger, GAPS_MOST);
    if (ledger->idle.piece_count >= PIECES_MOST)
        choose(ledger, ledger->idle.gap_count / 2);
    return 0;
}

/* ---- rows ---- */

struct idle_row {
    uint32_t lane, what, verdict, pair;
    int64_t place, stack, from_ns, ns, most_ns, count, looks;
    size_t gap; /* + 1; 0: of several */
    const char *confidence;
};

/* What a cell is, and how much of each share was given to rows. */
struct known_cell {
    size_t first, count; /* of shares */
    int64_t given_ns;
    bool is_known;
};

struct storing {
    struct gv_ledger *ledger;
    struct gv_ledger_rows *rows;
    struct known_cell *cells;
    struct gv_ledger_share *shares;
    double *given_ns; /* by share */
    size_t share_count, share_room, given_room;
    struct row_list {
        struct idle_row *rows;
        size_t count, room;
    } single, several;
    struct gv_key_map
        numbers; /* of rows, + 1: by account, place and gap; of several, by lane too */
};

static int know_cell(struct storing *storing, uint32_t number)
{
    struct gv_ledger_share shares[GV_LEDGER_SHARES_MOST];
    struct known_cell *cell = &storing->cells[number];
    size_t count = 0;
    int error = cell->is_known ? 0
                               : gv_ledger_shares(storing->ledger, storing->rows,
                                                  &storing->ledger->cells[number], shares, &count);

    if (error || cell->is_known)
        return error;
    *cell = (struct known_cell){.first = storing->share_count, .count = count, .is_known = true};
    for (size_t i = 0; i < count && !error; i++) {
        error = gv_array_room(&storing->shares, storing->share_count, &storing->share_room,
                              sizeof(*storing->shares));
        if (!error)
            error = gv_array_room(&storing->given_ns, storing->share_count, &storing->given_room,
                                  sizeof(*storing->given_ns));
        if (error)
            return error;
        storing->given_ns[storing->share_count] = 0;
        storing->shares[storing->share_count++] = shares[i];
    }
    return 0;
}

/* The share to which most is owed: so that all pieces of a cell together are split as it is. */
static size_t owed(const struct storing *storing, const struct known_cell *cell, int64_t ns)
{
    size_t most = cell->first;
    double most_ns = -1;

    for (size_t i = cell->first; i < cell->first + cell->count; i++) {
        double owed_ns =
            storing->shares[i].share * (double)(cell->given_ns + ns) - storing->given_ns[i];
        if (owed_ns > most_ns) {
            most_ns = owed_ns;
            most = i;
        }
    }
    return most;
}

static const char *confidence_of(const struct gv_ledger *ledger, const struct gv_ledger_cell *cell,
                                 const struct gv_ledger_share *share, bool looked_at)
{
    if (ledger->lanes[cell->lane].device < 0)
        return "inferred";
    if (cell->verdict || looked_at)
        return "sampled";
    if (cell->what < GV_LEDGER_OUTSIDE)
        return "measured";
    return share->seen > 0 ? "grouped" : "inferred";
}

static void add_to(struct idle_row *row, const struct gv_ledger_cell *cell,
                   const struct gv_ledger_share *share, int64_t from_ns, int64_t ns,
                   const char *confidence)
{
    row->ns += ns;
    if (ns <= row->most_ns)
        return;
    row->most_ns = ns;
    row->pair = cell->pair;
    row->stack = share->stack;
    row->verdict = share->verdict;
    row->confidence = confidence;
    if (!row->gap)
        row->from_ns = from_ns;
}

static int add_row(struct row_list *list, const struct idle_row *row)
{
    int error = gv_array_room(&list->rows, list->count, &list->room, sizeof(*list->rows));

    if (!error)
        list->rows[list->count++] = *row;
    return error;
}

/* The row of an account and a line for all that has no row of its own. */
static int several(struct storing *storing, uint32_t lane, uint32_t what, int64_t place,
                   struct idle_row **row)
{
    const struct gv_key key = {{(uint64_t)lane << 32 | what, (uint64_t)place, 0}};
    int64_t number = gv_key_map_find(&storing->numbers, &key);
    int error = 0;

    if (!number) {
        error = add_row(&storing->several,
                        &(struct idle_row){.lane = lane, .what = what, .place = place});
        number = (int64_t)storing->several.count;
        if (!error)
            error = gv_key_map_add(&storing->numbers, &key, number);
    }
    if (!error)
        *row = &storing->several.rows[number - 1];
    return error;
}

static int add_piece(struct storing *storing, const struct gv_ledger_idle_piece *piece,
                     uint32_t lane, size_t gap)
{
    const struct gv_ledger_cell *cell = &storing->ledger->cells[piece->cell];
    struct known_cell *known = &storing->cells[piece->cell];
    struct row_list *list = &storing->single;
    int64_t ns = piece->to_ns - piece->from_ns;
    int error = know_cell(storing, piece->cell);

    if (error)
        return error;
    size_t of = owed(storing, known, ns);
    const struct gv_ledger_share *share = &storing->shares[of];
    known->given_ns += ns;
    storing->given_ns[of] += (double)ns;
    const struct gv_key key = {{share->what, (uint64_t)share->place, gap + 1}};
    int64_t number = gv_key_map_find(&storing->numbers, &key);
    if (!number) {
        error = add_row(list, &(struct idle_row){.lane = lane,
                                                 .what = share->what,
                                                 .place = share->place,
                                                 .from_ns = piece->from_ns,
                                                 .count = 1,
                                                 .gap = gap + 1});
        number = (int64_t)list->count;
        if (!error)
            error = gv_key_map_add(&storing->numbers, &key, number);
    }
    if (error)
        return error;
    list->rows[number - 1].looks += piece->looks;
    add_to(&list->rows[number - 1], cell, share, piece->from_ns, ns,
           confidence_of(storing->ledger, cell, share, piece->looks > 0));
    return 0;
}

/* A small part has no row of its own. */
static int leave_out(struct storing *storing, const struct idle_row *small)
{
    struct idle_row *row = NULL, sum = *small;
    int error = several(storing, small->lane, small->what, small->place, &row);

    if (error)
        return error;
    if (small->ns <= row->most_ns)
        sum = *row;
    else
        sum.most_ns = small->ns;
    sum.gap = 0;
    sum.ns = row->ns + small->ns;
    sum.looks = row->looks + small->looks;
    sum.count = row->count + 1;
    *row = sum;
    return 0;
}

static int add_gap(struct storing *storing, size_t number)
{
    const struct gv_ledger_idle_gap *gap = &storing->ledger->idle.gaps[number];
    struct row_list *list = &storing->single;
    const size_t first = list->count;
    size_t kept = first;
    int error = 0;

    for (size_t i = gap->piece; i < gap->piece + gap->piece_count && !error; i++)
        error = add_piece(storing, &storing->ledger->idle.pieces[i], gap->lane, number);
    for (size_t i = first; i < list->count && !error; i++) {
        if (list->rows[i].ns < gap->ns / PART_LEAST)
            error = leave_out(storing, &list->rows[i]);
        else
            list->rows[kept++] = list->rows[i];
    }
    list->count = kept;
    return error;
}

static int add_folded(struct storing *storing, uint32_t number)
{
    const struct gv_ledger_cell *cell = &storing->ledger->cells[number];
    const struct known_cell *known = &storing->cells[number];
    struct gv_ledger_deal times = {.amount = cell->idle_ns}, counts = {.amount = cell->idle_count},
                          looks = {.amount = cell->idle_looks};
    double owed_ns = 0;
    int error = know_cell(storing, number);

    for (size_t i = known->first; i < known->first + known->count && !error; i++) {
        double ns = storing->shares[i].share * (double)(known->given_ns + cell->idle_ns) -
                    storing->given_ns[i];
        storing->given_ns[i] = ns > 0 ? ns : 0; /* what is owed, from now on */
        owed_ns += storing->given_ns[i];
    }
    for (size_t i = known->first; i < known->first + known->count && !error; i++) {
        const struct gv_ledger_share *share = &storing->shares[i];
        struct idle_row *row = NULL;
        const bool is_last = i + 1 == known->first + known->count;
        const double part = owed_ns > 0 ? storing->given_ns[i] / owed_ns : 0;
        const int64_t ns = gv_ledger_deal(&times, part, is_last);
        const int64_t count = gv_ledger_deal(&counts, part, is_last);
        const int64_t looked = gv_ledger_deal(&looks, part, is_last);
        if (ns == 0)
            continue;
        error = several(storing, cell->lane, share->what, share->place, &row);
        if (error)
            break;
        add_to(row, cell, share, cell->idle_at_ns, ns,
               confidence_of(storing->ledger, cell, share, false));
        row->count += count;
        row->looks += looked;
    }
    return error;
}

/* ---- storing ---- */

static int by_start(const void *left, const void *right)
{
    const struct idle_row *one = left, *other = right;

    if (one->from_ns != other->from_ns)
        return one->from_ns < other->from_ns ? -1 : 1;
    if (one->lane != other->lane)
        return one->lane < other->lane ? -1 : 1;
    return one->ns > other->ns ? -1 : one->ns < other->ns;
}

static int store_row(const struct storing *storing, sqlite3_stmt *add, const struct idle_row *row)
{
    const struct gv_ledger *ledger = storing->ledger;
    const struct gv_ledger_lane *lane = &ledger->lanes[row->lane];
    const struct gv_ledger_idle_gap *gap = row->gap ? &ledger->idle.gaps[row->gap - 1] : NULL;
    const struct gv_ledger_pair *pair = &ledger->pairs[row->pair];
    const char *detail = row->verdict ? ledger->verdicts[row->verdict - 1].detail : NULL;
    bool is_of_call = !row->verdict && (row->what >= GV_ACCOUNTS || row->what < GV_ACCOUNT_COMPILE);
    const int64_t values[] = {lane->process,
                              lane->device,
                              pair->thread,
                              row->from_ns,
                              row->ns,
                              row->count ? row->count : 1,
                              row->looks,
                              row->stack,
                              gap ? gap->previous : 0,
                              gap ? gap->next : 0,
                              (int64_t)row->gap,
                              gap ? gap->ns : 0,
                              gap && gap->is_inner,
                              is_of_call ? GV_LEDGER_API(pair->after) : 0};
    const char *texts[] = {gv_account_say(row->what).name, detail, row->confidence};
    const int count = sizeof(values) / sizeof(values[0]);
    int result = SQLITE_OK;

    for (int i = 0; i < count && result == SQLITE_OK; i++)
        result = sqlite3_bind_int64(add, i + 1, values[i]);
    for (int i = 0; i < 3 && result == SQLITE_OK; i++)
        result = sqlite3_bind_text(add, count + i + 1, texts[i], -1, SQLITE_STATIC);
    return result == SQLITE_OK ? gv_database_step(add) : gv_database_error(ledger->trace, result);
}

int gv_ledger_idle_store(struct gv_ledger *ledger, struct gv_ledger_rows *rows)
{
    struct storing storing = {.ledger = ledger, .rows = rows};
    sqlite3_stmt *add = NULL;
    int error = 0;

    choose(ledger, GAPS_MOST);
    storing.cells = calloc(ledger->cell_count + 1, sizeof(*storing.cells));
    if (!storing.cells)
        return -ENOMEM;
    for (size_t i = 0; i < ledger->idle.gap_count && !error; i++)
        error = add_gap(&storing, i);
    for (uint32_t i = 0; i < ledger->cell_count && !error; i++)
        if (ledger->cells[i].idle_ns > 0)
            error = add_folded(&storing, i);
    for (size_t i = 0; i < storing.several.count && !error; i++)
        error = add_row(&storing.single, &storing.several.rows[i]);
    if (storing.single.count)
        qsort(storing.single.rows, storing.single.count, sizeof(*storing.single.rows), by_start);
    if (!error)
        error = gv_database_error(ledger->trace,
                                  sqlite3_prepare_v2(ledger->trace, sql_add_idle, -1, &add, NULL));
    for (size_t i = 0; i < storing.single.count && !error; i++)
        error = store_row(&storing, add, &storing.single.rows[i]);
    sqlite3_finalize(add);
    if (!error)
        error = gv_database_script(ledger->trace, sql_idle_evidence, NULL, 0);
    if (!error)
        error = gv_database_script(ledger->trace, sql_again_in_steps, NULL, 0);
    if (!error)
        error = gv_database_script(ledger->trace, sql_slow_steps_line, NULL, 0);
    gv_key_map_free(&storing.numbers);
    free(storing.cells);
    free(storing.shares);
    free(storing.given_ns);
    free(storing.single.rows);
    free(storing.several.rows);
    return error;
}
