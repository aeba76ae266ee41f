/* When the time of each cell was, by minute. */
#include "report/analyse/ledger/minutes.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/store/array.h"
#include "report/store/database.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* If there are more, the unit becomes twice as long. */
#define ENTRIES_MOST 262144u
/* A piece that is longer than so many units tells little by unit. */
#define UNITS_MOST 65536
/* Rows of a minute that keep their lines. */
#define LINES_OF_MINUTE 32u

static int64_t unit_ns(const struct gv_ledger *ledger)
{
    return GV_LEDGER_MINUTE_NS << ledger->minutes.shift;
}

/* Lists have later minutes first. NULL: none, or beyond one that was booked late; then it has two.
 */
static struct gv_ledger_minute *minute_at(struct gv_ledger *ledger, uint32_t head, uint32_t minute)
{
    while (head && ledger->minutes.list[head - 1].minute > minute)
        head = ledger->minutes.list[head - 1].next;
    return head && ledger->minutes.list[head - 1].minute == minute ? &ledger->minutes.list[head - 1]
                                                                   : NULL;
}

static void add(struct gv_ledger_minute *to, const struct gv_ledger_minute *of)
{
    to->ns += of->ns;
    to->first_ns += of->first_ns;
    to->count += of->count;
}

/* An even unit is the first half of the new one. */
static void coarsen_list(struct gv_ledger *ledger, const struct gv_ledger_minute *old,
                         uint32_t *head)
{
    struct gv_ledger_minute *last = NULL;
    uint32_t at = *head;

    *head = 0;
    for (; at; at = old[at - 1].next) {
        struct gv_ledger_minute half = old[at - 1];
        half.first_ns = half.minute & 1 ? 0 : half.ns;
        half.minute >>= 1;
        half.next = 0;
        if (last && last->minute == half.minute) {
            add(last, &half);
            continue;
        }
        ledger->minutes.list[ledger->minutes.count++] = half;
        *(last ? &last->next : head) = (uint32_t)ledger->minutes.count;
        last = &ledger->minutes.list[ledger->minutes.count - 1];
    }
}

static int coarsen(struct gv_ledger *ledger)
{
    struct gv_ledger_minute *old = ledger->minutes.list;
    struct gv_ledger_minute *list = calloc(ledger->minutes.room, sizeof(*list));

    if (!list && ledger->minutes.room)
        return -ENOMEM;
    ledger->minutes.list = list;
    ledger->minutes.count = 0;
    ledger->minutes.shift++;
    for (size_t i = 0; i < ledger->cell_count; i++)
        coarsen_list(ledger, old, &ledger->cells[i].minutes);
    free(old);
    return 0;
}

static int add_to(struct gv_ledger *ledger, uint32_t *head, const struct gv_ledger_minute *of)
{
    struct gv_ledger_minute *known = minute_at(ledger, *head, of->minute);
    int error = known ? 0
                      : gv_array_room(&ledger->minutes.list, ledger->minutes.count,
                                      &ledger->minutes.room, sizeof(*ledger->minutes.list));

    if (error)
        return error;
    if (!known) {
        known = &ledger->minutes.list[ledger->minutes.count++];
        *known = (struct gv_ledger_minute){.minute = of->minute, .next = *head};
        *head = (uint32_t)ledger->minutes.count;
    }
    add(known, of);
    return 0;
}

static int64_t before(int64_t from_ns, int64_t to_ns, int64_t end_ns)
{
    return from_ns >= end_ns ? 0 : (to_ns < end_ns ? to_ns : end_ns) - from_ns;
}

int gv_ledger_minutes_book(struct gv_ledger *ledger, uint32_t *head, int64_t from_ns, int64_t to_ns,
                           int count, bool is_back)
{
    int error = 0;

    from_ns = from_ns > ledger->minutes.from_ns ? from_ns : ledger->minutes.from_ns;
    while (!error && (ledger->minutes.count >= ENTRIES_MOST ||
                      (to_ns - from_ns) / unit_ns(ledger) > UNITS_MOST))
        error = coarsen(ledger);
    while (from_ns < to_ns && !error) {
        const int64_t unit = unit_ns(ledger), minute = from_ns / unit;
        struct gv_ledger_minute of = {
            .minute = (uint32_t)minute,
            .ns = before(from_ns, to_ns, (minute + 1) * unit),
            .first_ns = before(from_ns, to_ns, minute * unit + unit / 2),
            .count = count,
        };
        from_ns += of.ns;
        count = 0;
        if (is_back) {
            of.ns = -of.ns;
            of.first_ns = -of.first_ns;
        }
        error = add_to(ledger, head, &of);
    }
    return error;
}

static int64_t part_of(int64_t amount, int64_t share, int64_t of)
{
    return of > 0 ? (int64_t)((__int128)amount * share / of) : 0;
}

int gv_ledger_minutes_move(struct gv_ledger *ledger, uint32_t *from, uint32_t *to, int64_t ns,
                           bool latest)
{
    int64_t all_ns = 0, passed_ns = 0;
    int error = 0;

    for (uint32_t at = *from; at; at = ledger->minutes.list[at - 1].next)
        all_ns += ledger->minutes.list[at - 1].ns;
    ns = ns < all_ns ? ns : all_ns;
    for (uint32_t at = *from; at && !error; at = ledger->minutes.list[at - 1].next) {
        struct gv_ledger_minute *of = &ledger->minutes.list[at - 1];
        const int64_t until_ns = passed_ns + of->ns;
        const int64_t limit_ns = until_ns < ns ? until_ns : ns;
        struct gv_ledger_minute part = {.minute = of->minute,
                                        .ns = latest ? limit_ns - passed_ns
                                                     : part_of(ns, until_ns, all_ns) -
                                                           part_of(ns, passed_ns, all_ns)};
        passed_ns = until_ns;
        if (part.ns > 0) {
            part.first_ns = part_of(of->first_ns, part.ns, of->ns);
            part.count = part_of(of->count, part.ns, of->ns);
            of->ns -= part.ns;
            of->first_ns -= part.first_ns;
            of->count -= part.count;
            error = add_to(ledger, to, &part);
        }
        if (latest && passed_ns >= ns)
            break;
    }
    return error;
}

/* ---- by line ---- */

int gv_ledger_minutes_deal(struct gv_ledger *ledger, struct gv_ledger_cell *cell, uint32_t row,
                           int64_t ns)
{
    struct gv_ledger_minutes *minutes = &ledger->minutes;
    struct gv_ledger_dealt *least = NULL;
    int error;

    if (cell->dealt_count == 0)
        cell->dealt = (uint32_t)minutes->dealt_count;
    for (uint32_t i = 0; i < cell->dealt_count; i++) {
        struct gv_ledger_dealt *of = &minutes->dealt[cell->dealt + i];
        if (of->row == row) {
            of->ns += ns;
            return 0;
        }
        if (!least || of->ns < least->ns)
            least = of;
    }
    if (cell->dealt_count >= LINES_OF_MINUTE) {
        if (ns > least->ns)
            *least = (struct gv_ledger_dealt){.row = row, .ns = ns};
        return 0;
    }
    error = gv_array_room(&minutes->dealt, minutes->dealt_count, &minutes->dealt_room,
                          sizeof(*minutes->dealt));
    if (error)
        return error;
    minutes->dealt[minutes->dealt_count++] = (struct gv_ledger_dealt){.row = row, .ns = ns};
    cell->dealt_count++;
    return 0;
}

/* A row of the ledger in a minute. */
struct sum {
    uint32_t row;
    int64_t ns, first_ns, idle_ns;
    double count, variance;
};

struct storing {
    const struct gv_ledger *ledger;
    const struct gv_ledger_rows *rows;
    sqlite3_stmt *add;
    struct sum *sums; /* of this minute */
    size_t count, room;
    uint32_t *at; /* by row: + 1 in sums */
};

struct entry {
    uint32_t minute, cell, at;
};

static int by_minute(const void *left, const void *right)
{
    const struct entry *one = left, *other = right;

    if (one->minute != other->minute)
        return one->minute < other->minute ? -1 : 1;
    return one->cell < other->cell ? -1 : one->cell > other->cell;
}

static int sum_of(struct storing *storing, uint32_t row, struct sum **sum)
{
    int error = 0;

    if (!storing->at[row]) {
        error =
            gv_array_room(&storing->sums, storing->count, &storing->room, sizeof(*storing->sums));
        if (error)
            return error;
        storing->sums[storing->count++] = (struct sum){.row = row};
        storing->at[row] = (uint32_t)storing->count;
    }
    *sum = &storing->sums[storing->at[row] - 1];
    return 0;
}

static int add_entry(struct storing *storing, const struct entry *entry)
{
    const struct gv_ledger *ledger = storing->ledger;
    const struct gv_ledger_cell *cell = &ledger->cells[entry->cell];
    const struct gv_ledger_minute *of = &ledger->minutes.list[entry->at];
    struct gv_ledger_deal deal = {.amount = of->ns}, first = {.amount = of->first_ns};
    const bool is_idle = gv_ledger_is_idle(cell->what) && (cell->what != GV_ACCOUNT_UNKNOWN ||
                                                           ledger->lanes[cell->lane].device >= 0);
    double all_ns = 0;
    int error = 0;

    for (uint32_t i = 0; i < cell->dealt_count; i++)
        all_ns += (double)ledger->minutes.dealt[cell->dealt + i].ns;
    for (uint32_t i = 0; i < cell->dealt_count && !error; i++) {
        const struct gv_ledger_dealt *dealt = &ledger->minutes.dealt[cell->dealt + i];
        const struct gv_ledger_row *row = &storing->rows->rows[dealt->row];
        const double share = (double)dealt->ns / all_ns;
        const bool is_last = i + 1 == cell->dealt_count;
        int64_t ns = gv_ledger_deal(&deal, share, is_last);
        struct sum *sum;
        error = sum_of(storing, dealt->row, &sum);
        if (error)
            break;
        sum->ns += ns;
        sum->first_ns += gv_ledger_deal(&first, share, is_last);
        sum->idle_ns += is_idle ? ns : 0;
        sum->count += (double)of->count * share;
        sum->variance += (row->variance + row->error_ns * row->error_ns) * (double)ns /
                         (double)(row->total_ns ? row->total_ns : 1);
    }
    return error;
}

/* The lanes, and the most first. */
static int compare_sums(const void *left, const void *right, void *context)
{
    const struct gv_ledger_row *rows = context;
    const struct sum *one = left, *other = right;
    const uint32_t lanes[] = {rows[one->row].lane, rows[other->row].lane};

    if (lanes[0] != lanes[1])
        return lanes[0] < lanes[1] ? -1 : 1;
    if (one->ns != other->ns)
        return one->ns > other->ns ? -1 : 1;
    return one->row < other->row ? -1 : one->row > other->row;
}

static int store_sum(const struct storing *storing, uint32_t minute, const struct sum *sum,
                     bool has_line)
{
    const struct gv_ledger_row *row = &storing->rows->rows[sum->row];
    const struct gv_ledger_lane *lane = &storing->ledger->lanes[row->lane];
    const int64_t values[] = {(int64_t)minute << storing->ledger->minutes.shift,
                              lane->process,
                              lane->device,
                              row->phase,
                              has_line ? row->place : 0,
                              has_line ? row->claimed : 0,
                              sum->ns,
                              (int64_t)(sum->count + 0.5),
                              (int64_t)sqrt(sum->variance),
                              sum->first_ns,
                              sum->idle_ns};
    int result = SQLITE_OK;

    for (int i = 0; i < 11 && result == SQLITE_OK; i++)
        result = sqlite3_bind_int64(storing->add, i + 1, values[i]);
    if (result == SQLITE_OK)
        result =
            sqlite3_bind_text(storing->add, 12, gv_account_say(row->what).name, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result =
            sqlite3_bind_text(storing->add, 13, gv_ledger_confidence(lane, row->what, row->sampled),
                              -1, SQLITE_STATIC);
    return result == SQLITE_OK ? gv_database_step(storing->add)
                               : gv_database_error(storing->ledger->trace, result);
}

/* What is beyond the largest of a lane, [from, to), by account and phase. */
static int store_rest(struct storing *storing, uint32_t minute, size_t from, size_t to)
{
    const struct gv_ledger_row *rows = storing->rows->rows;
    int error = 0;

    for (size_t i = from; i < to && !error; i++) {
        struct sum *rest = &storing->sums[i];
        if (rest->ns == 0)
            continue; /* it is in an earlier one */
        for (size_t j = i + 1; j < to; j++) {
            struct sum *more = &storing->sums[j];
            if (rows[more->row].what != rows[rest->row].what ||
                rows[more->row].phase != rows[rest->row].phase)
                continue;
            rest->ns += more->ns;
            rest->first_ns += more->first_ns;
            rest->idle_ns += more->idle_ns;
            rest->count += more->count;
            rest->variance += more->variance;
            more->ns = 0;
        }
        error = store_sum(storing, minute, rest, false);
    }
    return error;
}

static int store_minute(struct storing *storing, uint32_t minute)
{
    const struct gv_ledger_row *rows = storing->rows->rows;
    int error = 0;

    for (size_t i = 0; i < storing->count; i++)
        storing->at[storing->sums[i].row] = 0;
    qsort_r(storing->sums, storing->count, sizeof(*storing->sums), compare_sums,
            storing->rows->rows);
    for (size_t i = 0, first = 0; i < storing->count && !error; i++) {
        if (rows[storing->sums[i].row].lane != rows[storing->sums[first].row].lane)
            first = i;
        if (i < first + LINES_OF_MINUTE) {
            error = storing->sums[i].ns ? store_sum(storing, minute, &storing->sums[i], true) : 0;
            continue;
        }
        size_t end = i;
        while (end < storing->count &&
               rows[storing->sums[end].row].lane == rows[storing->sums[first].row].lane)
            end++;
        error = store_rest(storing, minute, i, end);
        i = end - 1;
    }
    storing->count = 0;
    return error;
}

/* The entries of cells that have rows. */
static size_t list_entries(const struct gv_ledger *ledger, struct entry *entries)
{
    size_t count = 0;

    for (uint32_t i = 0; i < ledger->cell_count; i++) {
        const struct gv_ledger_cell *cell = &ledger->cells[i];
        for (uint32_t at = cell->dealt_count ? cell->minutes : 0; at;
             at = ledger->minutes.list[at - 1].next)
            entries[count++] = (struct entry){ledger->minutes.list[at - 1].minute, i, at - 1};
    }
    qsort(entries, count, sizeof(*entries), by_minute);
    return count;
}

int gv_ledger_minutes_store(const struct gv_ledger *ledger, const struct gv_ledger_rows *rows)
{
    struct storing storing = {.ledger = ledger, .rows = rows};
    struct entry *entries = calloc(ledger->minutes.count + 1, sizeof(*entries));
    int error;

    storing.at = calloc(rows->count + 1, sizeof(*storing.at));
    error = entries && storing.at ? gv_database_compile(ledger->trace, sql_add_minute, &storing.add)
                                  : -ENOMEM;
    size_t count = error ? 0 : list_entries(ledger, entries);
    for (size_t i = 0; i < count && !error; i++) {
        error = add_entry(&storing, &entries[i]);
        if (!error && (i + 1 == count || entries[i + 1].minute != entries[i].minute))
            error = store_minute(&storing, entries[i].minute);
    }
    sqlite3_finalize(storing.add);
    free(storing.sums);
    free(storing.at);
    free(entries);
    return error;
}

void gv_ledger_minutes_free(struct gv_ledger *ledger)
{
    free(ledger->minutes.list);
    free(ledger->minutes.dealt);
}
