/* Findings of time that is in no account, or in several: each has a word of its own in
 * accounts.def, and saves nothing of itself. */
#include "report/analyse/ledger/findings.h"
#include "report/analyse/ledger/uses.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/places.h"
#include "report/analyse/steps/compare.h"
#include "report/analyse_ledger_ledger.inc"
#include "report/show/format.h"
#include "report/store/array.h"
#include "report/store/database.h"

#include <inttypes.h>
#include <stdio.h>

#define LEAST_SHARE      100 /* of the phase: one hundredth; */
#define GROWTH_LEAST     20  /* less is what machines do */
#define SERIALISED_LEAST 10  /* time that streams waited for another: a tenth */
#define COMPUTES_LEAST   85  /* percent of the phase: little else is worth a look */
#define SINGLE           10  /* steps that are slow are single ones up to a tenth */
#define LINE_LEAST       10  /* of what a device computes: less is not worth a look */
#define PAUSES_LEAST     5   /* of the loop: one fifth is more than a pause */
#define KERNEL_MOST      50  /* percent of all kernels' time: then it is named alone; */
#define KERNEL_LEAST     20  /* from here on, with its share */
#define NUMBERS          7

struct beside {
    struct gv_ledger *ledger;
    const struct gv_ledger_rows *rows;
    struct gv_ledger_findings *findings;
    struct gv_places places;
};

struct numbers {
    int64_t of[NUMBERS];
    char text[GV_LEDGER_TEXT_BYTES / 2]; /* the last one's */
    bool known;
};

static int take_numbers(void *context, sqlite3_stmt *row)
{
    struct numbers *numbers = context;
    int columns = sqlite3_column_count(row);
    const char *text = (const char *)sqlite3_column_text(row, columns - 1);

    for (int i = 0; i < columns && i < NUMBERS; i++)
        numbers->of[i] = sqlite3_column_int64(row, i);
    snprintf(numbers->text, sizeof(numbers->text), "%s", text ? text : "");
    numbers->known = true;
    return 0;
}

static struct gv_ledger_finding of_lane(const struct beside *beside, uint32_t lane, uint32_t what)
{
    const struct gv_ledger_lane *of = &beside->ledger->lanes[lane];

    return (struct gv_ledger_finding){.lane = lane,
                                      .phase = GV_LEDGER_MAIN,
                                      .what = what,
                                      .saves_ns = -1,
                                      .phase_ns = of->main_end_ns - of->main_ns};
}

/* Adds it at the place of the stack, with the account's words where it has none. */
static int add(struct beside *beside, struct gv_ledger_finding *finding, int64_t stack)
{
    struct gv_ledger_findings *findings = beside->findings;
    const struct gv_account_words words = gv_account_say(finding->what);
    int error =
        stack ? gv_place_of_stack(beside->ledger->trace, &beside->places, stack, &finding->place)
              : 0;

    if (!error)
        error = gv_array_room(&findings->list, findings->count, &findings->room,
                              sizeof(*findings->list));
    if (error)
        return error;
    if (!*finding->title)
        snprintf(finding->title, sizeof(finding->title), "%s", words.meaning);
    if (!*finding->fix)
        snprintf(finding->fix, sizeof(finding->fix), "%s", words.advice);
    findings->list[findings->count++] = *finding;
    return 0;
}

/* ---- computing ---- */

static void say_use(struct gv_ledger_finding *finding, const struct gv_ledger_used *used)
{
    if (!*used->words)
        return;
    gv_format_add(finding->title, sizeof(finding->title), "%s%s", *finding->title ? "; " : "",
                  used->words);
    if (*used->advice && !*finding->fix)
        snprintf(finding->fix, sizeof(finding->fix), "%s", used->advice);
}

/* Collectives may wait for other ranks. */
static bool computes(const struct gv_ledger_row *row)
{
    return row->what == GV_ACCOUNT_KERNEL || row->what == GV_ACCOUNT_GRAPH;
}

static int64_t total_at(const struct beside *beside, const struct gv_ledger_row *at, int64_t *count)
{
    int64_t total_ns = 0;

    for (size_t i = 0; i < beside->rows->count; i++) {
        const struct gv_ledger_row *row = &beside->rows->rows[i];
        if (row->lane != at->lane || row->phase != at->phase || !computes(row) ||
            row->place != at->place)
            continue;
        total_ns += row->total_ns;
        *count += row->count;
    }
    return total_ns;
}

/* Where most begins in a library, as a backward pass does, the line of the program that comes next
 * is what one can change. */
static int say_own_line(struct beside *beside, const struct gv_ledger_row *most, int64_t all_ns,
                        struct gv_ledger_finding *finding)
{
    const struct gv_ledger_row *next = NULL;
    struct numbers words = {.known = false};
    int64_t count = 0, is_own = 0, line_ns;
    int error = gv_database_number(beside->ledger->trace, sql_is_line, &most->place, 1, &is_own);

    for (size_t i = 0; i < beside->rows->count && !is_own && !error; i++) {
        const struct gv_ledger_row *row = &beside->rows->rows[i];
        int64_t is_line = 0;
        if (row->lane != most->lane || row->phase != most->phase || !computes(row) || !row->place ||
            (next && row->total_ns <= next->total_ns))
            continue;
        error = gv_database_number(beside->ledger->trace, sql_is_line, &row->place, 1, &is_line);
        next = is_line ? row : next;
    }
    if (error || !next)
        return error;
    line_ns = total_at(beside, next, &count);
    if (line_ns < all_ns / LINE_LEAST)
        return 0;
    error = gv_database_each(beside->ledger->trace, sql_place_words, &next->place, 1, take_numbers,
                             &words);
    gv_format_add(finding->title, sizeof(finding->title), ", %.0f %% at %s",
                  100 * (double)line_ns / (double)all_ns, words.text);
    return error;
}

/* "", or which kernel has most of their time, and how much. */
static void name_kernel(const struct numbers *numbers, char *out, size_t size)
{
    int64_t percent = numbers->of[1];
    char kernel[GV_KERNEL_NAME_WIDE + 1];

    *out = '\0';
    gv_kernel_name_short(numbers->text, kernel, sizeof(kernel));
    if (*kernel && percent >= KERNEL_MOST)
        snprintf(out, size, ", mostly %s", kernel);
    else if (*kernel && percent >= KERNEL_LEAST)
        snprintf(out, size, ", first of all %s (%lld %%)", kernel, (long long)percent);
}

/* The two longest idle times of the loop, if they are short beside it: what happens once or twice
 * says little of the steps. */
static int64_t pauses_of(const struct gv_ledger *ledger, uint32_t number, int64_t seen_ns)
{
    const struct gv_ledger_lane *lane = &ledger->lanes[number];
    int64_t first_ns = 0, second_ns = 0;

    for (size_t i = 0; i < ledger->idle.gap_count; i++) {
        const struct gv_ledger_idle_gap *gap = &ledger->idle.gaps[i];
        const struct gv_ledger_idle_piece *piece = &ledger->idle.pieces[gap->piece];
        if (gap->lane != number || !gap->piece_count || piece->from_ns < lane->main_ns ||
            piece[gap->piece_count - 1].to_ns > lane->main_end_ns)
            continue;
        second_ns = gap->ns > first_ns ? first_ns : gap->ns > second_ns ? gap->ns : second_ns;
        first_ns = gap->ns > first_ns ? gap->ns : first_ns;
    }
    return first_ns + second_ns < seen_ns / PAUSES_LEAST ? first_ns + second_ns : 0;
}

/* A device that computes nearly all the time: the line that gives it most of that. */
static int find_computing(struct beside *beside, uint32_t number, const struct gv_ledger_used *used,
                          bool *found)
{
    const struct gv_ledger_lane *lane = &beside->ledger->lanes[number];
    struct gv_ledger_finding finding = of_lane(beside, number, GV_ACCOUNT_COMPUTING);
    const struct gv_ledger_row *most = NULL;
    int64_t all_ns = 0, line_ns = 0, seen_ns = 0, rest_ns;
    struct numbers numbers = {.known = false};
    char kernel[GV_KERNEL_NAME_WIDE + 32];
    int error;

    for (size_t i = 0; i < beside->rows->count; i++) {
        const struct gv_ledger_row *row = &beside->rows->rows[i];
        if (row->lane != number || row->phase != GV_LEDGER_MAIN)
            continue;
        if (row->what >= GV_ACCOUNTS || gv_account_say(row->what).group != GV_ACCOUNT_ASIDE)
            seen_ns += row->total_ns;
        if (!computes(row))
            continue;
        all_ns += row->total_ns;
        most = most && most->total_ns >= row->total_ns ? most : row;
    }
    rest_ns = lane->steps > SINGLE ? seen_ns - pauses_of(beside->ledger, number, seen_ns) : seen_ns;
    if (!most || !most->place || all_ns < rest_ns / 100 * COMPUTES_LEAST ||
        (!lane->steps && finding.phase_ns < (lane->end_ns - lane->begin_ns) / 2))
        return 0;
    line_ns = total_at(beside, most, &finding.count);
    finding.place = most->place;
    /* Kernels are summed over all lanes. */
    error = beside->ledger->lane_count > 1
                ? 0
                : gv_database_each(beside->ledger->trace, sql_main_kernel, NULL, 0, take_numbers,
                                   &numbers);
    name_kernel(&numbers, kernel, sizeof(kernel));
    snprintf(finding.title, sizeof(finding.title),
             "the GPU computes for %.0f %% of the time%s; %.0f %% of that begins here",
             100 * (double)all_ns / (double)seen_ns, kernel,
             100 * (double)line_ns / (double)all_ns);
    if (!error)
        error = say_own_line(beside, most, all_ns, &finding);
    if (numbers.of[0]) {
        gv_format_add(finding.title, sizeof(finding.title),
                      "; most of the time is in kernels with fewer blocks than the GPU has SMs");
        snprintf(finding.fix, sizeof(finding.fix),
                 "Give these kernels more blocks, or run several at a time, in streams of their "
                 "own: a part of the GPU has nothing to do.");
    }
    *found = !used->of || used->of == beside->ledger->pairs[most->cell_pair].after;
    if (*found) /* or else it was another call's work */
        say_use(&finding, used);
    if (!error)
        error = gv_ledger_tell_managed(beside->ledger->trace, &finding);
    return error ? error : add(beside, &finding, 0);
}

/* What limited the device for most of its busy time, at the line that has most of that; and what
 * slowed it down. */
static int find_use(struct beside *beside, uint32_t number)
{
    struct gv_ledger_finding use = of_lane(beside, number, GV_ACCOUNT_USE);
    struct gv_ledger_finding clocks = of_lane(beside, number, GV_ACCOUNT_CLOCKS);
    const struct gv_ledger_lane *lane = &beside->ledger->lanes[number];
    struct gv_ledger_used used;
    bool is_told = false;
    const struct gv_ledger_row *most = NULL, *any = NULL;
    int64_t busy_ns = 0;
    int error = gv_ledger_use_sum(beside->ledger, number, GV_LEDGER_MAIN, &used);

    for (size_t i = 0; i < beside->rows->count; i++) {
        const struct gv_ledger_row *row = &beside->rows->rows[i];
        if (row->lane != number || row->phase != GV_LEDGER_MAIN || row->what > GV_ACCOUNT_SET)
            continue;
        busy_ns += row->total_ns;
        any = any && any->total_ns >= row->total_ns ? any : row;
        if (!used.of || used.of == beside->ledger->pairs[row->cell_pair].after)
            most = most && most->total_ns >= row->total_ns ? most : row;
    }
    if (!most) /* its call is a small part of each line */
        most = any;
    use.place = most ? most->place : 0;
    if (lane->device < 0) /* no operation is known, so no row tells of it */
        busy_ns = use.phase_ns;
    /* Every use_stride-th sample tells of that many. */
    busy_ns /= (int64_t)(lane->use_stride ? lane->use_stride : 1);
    if (used.kind_ns <= busy_ns / 2)
        *used.words = '\0';
    if (!error)
        error = find_computing(beside, number, &used, &is_told);
    say_use(&use, &used);
    if (!error && *use.fix && !is_told)
        error = add(beside, &use, 0);
    if (error || !used.slowed_by || used.slowed_ns <= busy_ns / 2)
        return error;
    snprintf(clocks.title, sizeof(clocks.title),
             "the GPU is slowed down by %s for %.0f %% of the time that it is busy", used.slowed_by,
             100 * (double)used.slowed_ns / (double)used.busy_ns);
    if (used.clock_mhz)
        gv_format_add(clocks.title, sizeof(clocks.title), ", to %lld of %lld MHz",
                      (long long)used.clock_mhz, (long long)used.clock_most_mhz);
    snprintf(clocks.fix, sizeof(clocks.fix), "%s", used.slowed_advice);
    return add(beside, &clocks, 0);
}

/* ---- operations that waited ---- */

static int find_waited(struct beside *beside, const struct gv_ledger_beside *of)
{
    struct gv_ledger_finding finding = of_lane(beside, of->lane, of->what);
    const uint64_t call = beside->ledger->pairs[of->pair].after;
    const int64_t values[] = {GV_LEDGER_KERNEL(call), GV_LEDGER_API(call)};
    struct numbers name = {0};
    char each[GV_FORMAT_BYTES], kernel[GV_KERNEL_NAME_WIDE + 1];
    int error;

    finding.lost_ns = of->waited_ns;
    finding.count = of->count;
    if (of->waited_ns <
        finding.phase_ns / (of->what == GV_ACCOUNT_SERIALISED ? SERIALISED_LEAST : LEAST_SHARE))
        return 0;
    if (of->what == GV_ACCOUNT_LATE_START)
        snprintf(finding.title, sizeof(finding.title),
                 "begins %s after its launch, behind other streams' work%s",
                 gv_format_duration(each, of->waited_ns / of->count),
                 2 * of->first_uses >= of->count ? ": first use of its kernel" : "");
    error =
        of->what == GV_ACCOUNT_SERIALISED
            ? gv_database_each(beside->ledger->trace, sql_call_name, values, 2, take_numbers, &name)
            : 0;
    if (*name.text) {
        gv_kernel_name_short(name.text, kernel, sizeof(kernel));
        snprintf(finding.title, sizeof(finding.title),
                 "work of other streams waits for %s, which is in the default stream", kernel);
    }
    return error ? error : add(beside, &finding, of->stack);
}

/* ---- steps ---- */

/* What one step takes more in the second half of the time than in the first, at most. */
static const struct gv_ledger_row *grew_most(const struct beside *beside, uint32_t lane,
                                             int64_t before, int64_t after)
{
    const struct gv_ledger_row *most = NULL;
    double most_ns = 0;

    for (size_t i = 0; i < beside->rows->count && before && after; i++) {
        const struct gv_ledger_row *row = &beside->rows->rows[i];
        double ns = (double)(row->total_ns - row->first_ns) / (double)after -
                    (double)row->first_ns / (double)before;
        if (row->lane != lane || row->phase != GV_LEDGER_MAIN || ns <= most_ns)
            continue;
        most_ns = ns;
        most = row;
    }
    return most;
}

static int find_growth(struct beside *beside, uint32_t number, bool *grows)
{
    const struct gv_ledger_lane *lane = &beside->ledger->lanes[number];
    struct gv_ledger_finding finding = of_lane(beside, number, GV_ACCOUNT_GROWTH);
    const int64_t values[] = {lane->step_series,
                              lane->main_ns + (lane->main_end_ns - lane->main_ns) / 2};
    struct numbers numbers = {0};
    char first[GV_FORMAT_BYTES], last[GV_FORMAT_BYTES];
    int error =
        gv_database_each(beside->ledger->trace, sql_growth, values, 2, take_numbers, &numbers);

    *grows = !error && numbers.of[0] >= finding.phase_ns / GROWTH_LEAST && numbers.of[0] > 0 &&
             numbers.of[2] > numbers.of[1];
    if (!*grows)
        return error;
    const struct gv_ledger_row *row = grew_most(beside, number, numbers.of[3], numbers.of[4]);
    finding.lost_ns = numbers.of[0];
    finding.count = lane->steps;
    finding.place = row ? row->place : 0;
    snprintf(finding.title, sizeof(finding.title), "steps grow from %s to %s%s%s",
             gv_format_duration(first, numbers.of[1]), gv_format_duration(last, numbers.of[2]),
             row ? ", most in " : "", row ? gv_account_say(row->what).name : "");
    return add(beside, &finding, 0);
}

static int find_slow_steps(struct beside *beside, uint32_t number,
                           const struct gv_steps_compared *compared)
{
    struct gv_ledger_finding finding = of_lane(beside, number, GV_ACCOUNT_SLOW_STEPS);
    const int64_t values[] = {compared->series, compared->median_ns};
    struct numbers numbers = {0};
    char longer[GV_FORMAT_BYTES];
    int error =
        gv_database_each(beside->ledger->trace, sql_slow_steps, values, 2, take_numbers, &numbers);

    finding.count = numbers.of[0];
    finding.lost_ns = numbers.of[1];
    if (error || finding.count == 0 || finding.count > compared->count / SINGLE ||
        finding.lost_ns < finding.phase_ns / LEAST_SHARE)
        return error;
    snprintf(finding.title, sizeof(finding.title),
             "%" PRId64 " of %" PRId64 " steps; the worst, number %" PRId64 ": %s", finding.count,
             compared->count, compared->slowest,
             *compared->slowest_why ? compared->slowest_why
                                    : gv_format_duration(longer, compared->lost_ns));
    return add(beside, &finding, 0);
}

/* As docs/steps.md compares them: only what chance does not do. */
static int find_in_steps(struct beside *beside)
{
    struct gv_steps_compared compared;
    bool grows = false;
    int error = gv_steps_compare(beside->ledger->trace, &compared);

    for (uint32_t i = 0; i < beside->ledger->lane_count && !error && compared.count; i++) {
        const struct gv_ledger_lane *lane = &beside->ledger->lanes[i];
        if (lane->step_series != compared.series || !lane->steps)
            continue;
        if (compared.drift > 0)
            error = find_growth(beside, i, &grows);
        if (!error && !grows && compared.slowest)
            error = find_slow_steps(beside, i, &compared);
    }
    return error;
}

/* ---- calls that waited ---- */

/* One line for a process, with its lane that computes most. They may have cost the GPU nothing. */
static int find_unexpected(struct beside *beside, uint32_t number)
{
    const struct gv_ledger_lane *lanes = beside->ledger->lanes, *lane = &lanes[number];
    const int64_t values[] = {lane->process, lane->begin_ns, lane->end_ns};
    struct gv_ledger_finding finding = of_lane(beside, number, GV_ACCOUNT_UNEXPECTED_WAITS);
    struct numbers numbers = {0};
    char all[GV_FORMAT_BYTES], worst[GV_FORMAT_BYTES];
    int error = 0;

    for (uint32_t i = 0; i < beside->ledger->lane_count; i++)
        if (lanes[i].process == lane->process &&
            (lanes[i].computing_ns > lane->computing_ns ||
             (lanes[i].computing_ns == lane->computing_ns && i < number)))
            return 0;
    error = gv_database_each(beside->ledger->trace, sql_unexpected_waits, values, 3, take_numbers,
                             &numbers);
    if (error || numbers.of[0] == 0)
        return error;
    finding.count = numbers.of[0];
    finding.stall = numbers.of[3];
    finding.phase = numbers.of[5] < lane->main_ns       ? GV_LEDGER_START
                    : numbers.of[5] < lane->main_end_ns ? GV_LEDGER_MAIN
                                                        : GV_LEDGER_END;
    snprintf(finding.title, sizeof(finding.title),
             "%" PRId64 " call%s waited %s in all; the worst %s: %s", finding.count,
             finding.count == 1 ? "" : "s", gv_format_duration(all, numbers.of[1]),
             gv_format_duration(worst, numbers.of[2]), numbers.text);
    return add(beside, &finding, numbers.of[4]);
}

int gv_ledger_beside_find(struct gv_ledger *ledger, const struct gv_ledger_rows *rows,
                          struct gv_ledger_findings *findings)
{
    struct beside beside = {.ledger = ledger, .rows = rows, .findings = findings};
    int error = 0;

    for (size_t i = 0; i < ledger->beside_count && !error; i++)
        error = find_waited(&beside, &ledger->beside[i]);
    if (!error)
        error = find_in_steps(&beside);
    for (uint32_t i = 0; i < ledger->lane_count && !error; i++)
        error = find_use(&beside, i);
    for (uint32_t i = 0; i < ledger->lane_count && !error; i++)
        error = find_unexpected(&beside, i);
    gv_places_free(&beside.places);
    return error;
}
