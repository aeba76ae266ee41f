#include "report/commands/summary/ledger.h"

#include "report/analyse/ledger/accounts.h"
#include "report/commands/offer.h"
#include "report/commands_summary_summary.inc"
#include "report/show/format.h"
#include "report/store/database.h"
#include "report/store/time_sum.h"

#include <inttypes.h>
#include <string.h>

static void take_text(char *out, size_t size, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    snprintf(out, size, "%s", text ? text : "");
}

static int take_lane(void *context, sqlite3_stmt *row)
{
    struct gv_summary_ledger *ledger = context;

    ledger->lane_count++;
    if (ledger->lanes_told < GV_SUMMARY_LANES)
        ledger->lanes[ledger->lanes_told++] = (struct gv_summary_lane){
            .process = sqlite3_column_int64(row, 0),
            .device = sqlite3_column_int64(row, 1),
            .steps = sqlite3_column_int64(row, 2),
            .pid = sqlite3_column_int64(row, 3),
            .begin_ns = gv_time_column_duration(row, 4),
            .median_ns = gv_time_column_duration(row, 5),
        };
    return 0;
}

/* The time of one account. */
static int take_account(void *context, sqlite3_stmt *row)
{
    struct gv_summary_lane *lane = context;
    unsigned phase = (unsigned)sqlite3_column_int(row, 0);
    unsigned what = gv_account_find((const char *)sqlite3_column_text(row, 1));
    int64_t ns = gv_time_column_duration(row, 2), *sum;

    if (phase >= GV_SUMMARY_PHASES)
        return 0;
    struct gv_summary_time *time = &lane->phases[phase];
    sum = gv_account_is_work(what)                         ? &time->busy_ns
          : what == GV_ACCOUNT_NO_REQUEST                  ? &time->no_request_ns
          : what == GV_ACCOUNT_NOT_SEEN                    ? &time->not_seen_ns
          : what == GV_ACCOUNT_UNKNOWN && lane->device < 0 ? &time->unknown_ns
                                                           : &time->idle_ns;
    *sum = gv_time_sum(*sum, ns);
    if (what == GV_ACCOUNT_BENCHMARK || what == GV_ACCOUNT_NAN_KERNEL ||
        what == GV_ACCOUNT_COPY_PAGEABLE || what == GV_ACCOUNT_COPY_EXPOSED)
        time->lost_busy_ns = gv_time_sum(time->lost_busy_ns, ns);
    if (what >= GV_ACCOUNT_COPY && what < GV_ACCOUNT_SET)
        time->copy_ns = gv_time_sum(time->copy_ns, ns);
    return 0;
}

static void finding_take(struct gv_summary_finding *finding, sqlite3_stmt *row)
{
    const char *confidence = (const char *)sqlite3_column_text(row, 5);

    *finding = (struct gv_summary_finding){
        .id = sqlite3_column_int64(row, 0),
        .phase = (unsigned)sqlite3_column_int(row, 1),
        .lost_ns = gv_time_column_duration(row, 3),
        .saves_ns =
            sqlite3_column_type(row, 4) == SQLITE_NULL ? -1 : gv_time_column_duration(row, 4),
        .sure = confidence && strcmp(confidence, "inferred") != 0,
        .seldom = sqlite3_column_type(row, 10) != SQLITE_NULL,
    };
    take_text(finding->what, sizeof(finding->what), row, 2);
    take_text(finding->place, sizeof(finding->place), row, 6);
    take_text(finding->title, sizeof(finding->title), row, 7);
    take_text(finding->fix, sizeof(finding->fix), row, 8);
    take_text(finding->then, sizeof(finding->then), row, 9);
}

static int take_first(void *context, sqlite3_stmt *row)
{
    struct gv_summary_lane *lane = context;

    if (lane->first.id == 0)
        finding_take(&lane->first, row);
    return 0;
}

/* What loses nothing is there because the GPU computes. */
static int take_finding(void *context, sqlite3_stmt *row)
{
    struct gv_summary_ledger *ledger = context;
    int64_t lost_ns = gv_time_column_duration(row, 3);

    if (ledger->stepped ? sqlite3_column_int(row, 1) != GV_SUMMARY_MAIN
                        : lost_ns > 0 && lost_ns < ledger->shown_ns / GV_SUMMARY_LITTLE)
        return 0;
    if (ledger->told < GV_SUMMARY_FINDINGS)
        finding_take(&ledger->findings[ledger->told++], row);
    ledger->finding_count++;
    return 0;
}

/* Whether one step is shown, not the run: not if the start cost more than any line of the steps
 * did, and is much of the run. */
static bool is_stepped(const struct gv_summary_lane *lane)
{
    const struct gv_summary_time run = gv_summary_time_of(lane, false);

    return lane->steps > 0 && (!lane->first.id || lane->first.phase == GV_SUMMARY_MAIN ||
                               lane->first.lost_ns < gv_summary_time_sum(&run) / GV_SUMMARY_MUCH);
}

int gv_summary_ledger_read(const struct gv_summary *summary, struct gv_summary_ledger *ledger)
{
    const int64_t part[] = {summary->part->process, summary->part->device};
    struct gv_summary_time time;
    int error;

    memset(ledger, 0, sizeof(*ledger));
    error = gv_database_each(summary->trace, sql_lanes, part, 2, take_lane, ledger);
    for (size_t i = 0; i < ledger->lanes_told && !error; i++) {
        struct gv_summary_lane *lane = &ledger->lanes[i];
        const int64_t values[] = {lane->process, lane->device};
        error = gv_database_each(summary->trace, sql_lane_time, values, 2, take_account, lane);
        if (!error)
            error =
                gv_database_each(summary->trace, sql_lane_findings, values, 2, take_first, lane);
        if (error || i > 0)
            continue;
        ledger->stepped = is_stepped(lane);
        time = gv_summary_time_of(lane, ledger->stepped);
        ledger->shown_ns = time.busy_ns + time.idle_ns + time.unknown_ns;
        error =
            gv_database_each(summary->trace, sql_lane_findings, values, 2, take_finding, ledger);
    }
    return error;
}

struct gv_summary_time gv_summary_time_of(const struct gv_summary_lane *lane, bool only_main)
{
    struct gv_summary_time all = {0};

    for (unsigned i = 0; i < GV_SUMMARY_PHASES; i++) {
        const struct gv_summary_time *one = &lane->phases[i];
        if (only_main && i != GV_SUMMARY_MAIN)
            continue;
        all.busy_ns = gv_time_sum(all.busy_ns, one->busy_ns);
        all.idle_ns = gv_time_sum(all.idle_ns, one->idle_ns);
        all.unknown_ns = gv_time_sum(all.unknown_ns, one->unknown_ns);
        all.no_request_ns = gv_time_sum(all.no_request_ns, one->no_request_ns);
        all.not_seen_ns = gv_time_sum(all.not_seen_ns, one->not_seen_ns);
        all.lost_busy_ns = gv_time_sum(all.lost_busy_ns, one->lost_busy_ns);
        all.copy_ns = gv_time_sum(all.copy_ns, one->copy_ns);
    }
    return all;
}

int64_t gv_summary_time_sum(const struct gv_summary_time *time)
{
    return gv_time_sum(gv_time_sum(gv_time_sum(time->busy_ns, time->idle_ns),
                                   gv_time_sum(time->unknown_ns, time->no_request_ns)),
                       time->not_seen_ns);
}

int64_t gv_summary_each_ns(const struct gv_summary_ledger *ledger, int64_t ns)
{
    return ledger->stepped ? ns / ledger->lanes[0].steps : ns;
}

int64_t gv_summary_lost_ns(const struct gv_summary_ledger *ledger,
                           const struct gv_summary_finding *finding)
{
    return finding->seldom ? finding->lost_ns : gv_summary_each_ns(ledger, finding->lost_ns);
}

int64_t gv_summary_rest_ns(const struct gv_summary_ledger *ledger)
{
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    int64_t rest_ns = gv_time_sum(time.idle_ns, time.lost_busy_ns);

    for (size_t i = 0; i < ledger->told; i++)
        rest_ns -= ledger->findings[i].saves_ns >= 0 ? ledger->findings[i].lost_ns : 0;
    return rest_ns;
}

void gv_summary_say_none(const struct gv_summary_ledger *ledger, char out[GV_SUMMARY_TEXT_BYTES])
{
    const struct gv_summary_time time = gv_summary_time_of(&ledger->lanes[0], ledger->stepped);
    char share[GV_FORMAT_BYTES];

    snprintf(out, GV_SUMMARY_TEXT_BYTES, "No findings: the GPU was busy for %s of the %s%s",
             gv_summary_share(time.busy_ns, ledger->shown_ns, share),
             ledger->stepped ? "steps" : "run",
             time.not_seen_ns > 0     ? ", where it was seen"
             : time.no_request_ns > 0 ? ", without the time between requests"
                                      : "");
}

const char *gv_summary_share(int64_t ns, int64_t all_ns, char out[GV_FORMAT_BYTES])
{
    double percent = all_ns > 0 ? 100 * (double)ns / (double)all_ns : 0;

    snprintf(out, GV_FORMAT_BYTES, "%.*f %%", percent > 0 && percent < 0.95 ? 1 : 0, percent);
    return out;
}

void gv_summary_fix(const struct gv_summary *summary, const struct gv_summary_finding *finding,
                    int64_t as_for, char out[GV_SUMMARY_TEXT_BYTES])
{
    char fix[GV_SUMMARY_TEXT_BYTES + GV_OFFER_BYTES], saves[GV_FORMAT_BYTES];
    size_t length;

    out[0] = '\0';
    if (!finding->fix[0])
        return;
    gv_offer_fill(fix, sizeof(fix), finding->fix, summary->path, false);
    length = strlen(fix);
    if (length > 0 && fix[length - 1] == '.')
        fix[length - 1] = '\0';
    if (as_for)
        snprintf(fix, sizeof(fix), "as for %" PRId64, as_for);
    gv_format_add(out, GV_SUMMARY_TEXT_BYTES, "fix: %s", fix);
    /* Where it is all of it, the time before says so. */
    if (finding->saves_ns >= 0 && finding->saves_ns < finding->lost_ns / 20 * 19)
        gv_format_add(out, GV_SUMMARY_TEXT_BYTES, "; saves up to %s in all",
                      gv_format_duration(saves, finding->saves_ns));
    if (finding->then[0])
        gv_format_add(out, GV_SUMMARY_TEXT_BYTES, "; %s", finding->then);
}
