/* A program that is started again for each task, one after the other: each time it imports, starts
 * CUDA and loads its libraries, before the GPU has work. */
#include "report/analyse/ledger/findings.h"

#include "report/analyse_ledger_ledger.inc"
#include "report/show/format.h"
#include "report/store/array.h"
#include "report/store/database.h"
#include "trace/mix.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARTS_LEAST 3
#define LOST_LEAST   5 /* of the time from the first one's start to the last one's end: a fifth */

/* A process with a lane. */
struct process {
    int64_t begin_ns, end_ns;
    int64_t aside_ns; /* before its main phase, and behind it */
    uint64_t same;    /* equal if it is the same program, started by the same process */
    uint32_t lane;    /* the one that computes most */
};

struct reading {
    struct gv_ledger *ledger;
    struct process *list; /* by begin */
    size_t count, room;
};

/* Numbers in its arguments say which task it is, or which pipe to read. */
static uint64_t same_of(sqlite3_stmt *row)
{
    const char *executable = (const char *)sqlite3_column_text(row, 2);
    const char *arguments = (const char *)sqlite3_column_text(row, 3);
    uint64_t same = gv_mix_bytes((uint64_t)sqlite3_column_int64(row, 1), executable,
                                 executable ? strlen(executable) : 0);

    for (; arguments && *arguments; arguments++)
        if (!isdigit((unsigned char)*arguments))
            same = gv_mix_bytes(same, arguments, 1);
    return same;
}

static int take_process(void *context, sqlite3_stmt *row)
{
    struct reading *reading = context;
    const struct gv_ledger_lane *lanes = reading->ledger->lanes, *most = NULL;
    int error = 0;

    for (uint32_t i = 0; i < reading->ledger->lane_count; i++)
        if (lanes[i].process == sqlite3_column_int64(row, 0) &&
            (!most || lanes[i].computing_ns > most->computing_ns))
            most = &lanes[i];
    if (most)
        error =
            gv_array_room(&reading->list, reading->count, &reading->room, sizeof(*reading->list));
    if (error || !most)
        return error;
    reading->list[reading->count++] = (struct process){
        .begin_ns = most->begin_ns,
        .end_ns = most->end_ns,
        .aside_ns = most->main_ns - most->begin_ns + most->end_ns - most->main_end_ns,
        .same = same_of(row),
        .lane = (uint32_t)(most - lanes),
    };
    return 0;
}

/* The one that ends first, of those of the same program that begin later; NULL: none. Only what is
 * behind it in the list, as a process that took no time would follow itself. */
static const struct process *next_of(const struct reading *reading, const struct process *one)
{
    const struct process *next = NULL;

    for (size_t i = (size_t)(one - reading->list) + 1; i < reading->count; i++) {
        const struct process *other = &reading->list[i];
        if (other->same == one->same && other->begin_ns >= one->end_ns &&
            (!next || other->end_ns < next->end_ns))
            next = other;
    }
    return next;
}

/* Between two of them, nobody works for longer than what a start takes: then it is a part of it,
 * as is the end of the one before. */
static int find_after(const struct reading *reading, const struct process *first,
                      struct gv_ledger_findings *findings)
{
    const struct gv_ledger_lane *lanes = reading->ledger->lanes;
    struct gv_ledger_finding finding = {.lane = first->lane,
                                        .phase = GV_LEDGER_START,
                                        .what = GV_ACCOUNT_RESTARTS,
                                        .saves_ns = -1,
                                        .count = 1};
    const struct process *last = first, *next;
    char lost[GV_FORMAT_BYTES], all[GV_FORMAT_BYTES];
    int error;

    while ((next = next_of(reading, last))) {
        int64_t between_ns = next->begin_ns - last->end_ns;
        finding.lost_ns +=
            next->aside_ns + (between_ns < next->aside_ns ? between_ns : next->aside_ns);
        finding.count++;
        if (lanes[next->lane].computing_ns > lanes[finding.lane].computing_ns)
            finding.lane = next->lane;
        last = next;
    }
    finding.phase_ns = last->end_ns - first->begin_ns;
    if (finding.count < STARTS_LEAST || finding.lost_ns < finding.phase_ns / LOST_LEAST)
        return 0;
    snprintf(finding.title, sizeof(finding.title),
             "%" PRId64 " processes of the same program, one after the other: starting and ending "
             "them anew took %s of %s",
             finding.count, gv_format_duration(lost, finding.lost_ns),
             gv_format_duration(all, finding.phase_ns));
    snprintf(finding.fix, sizeof(finding.fix), "%s", gv_account_say(finding.what).advice);
    error =
        gv_array_room(&findings->list, findings->count, &findings->room, sizeof(*findings->list));
    if (!error)
        findings->list[findings->count++] = finding;
    return error;
}

int gv_ledger_restarts_find(struct gv_ledger *ledger, struct gv_ledger_findings *findings)
{
    struct reading reading = {.ledger = ledger};
    int error = gv_database_each(ledger->trace, sql_parents, NULL, 0, take_process, &reading);

    for (size_t i = 0; i < reading.count && !error; i++) {
        bool is_first = true;
        for (size_t j = 0; j < i && is_first; j++)
            is_first = reading.list[j].same != reading.list[i].same;
        if (is_first)
            error = find_after(&reading, &reading.list[i], findings);
    }
    free(reading.list);
    return error;
}
