/*
 * A launch has ended when its operation is there, with its times: of one that still runs, the last
 * flush brings only that it was there. CUPTI may keep operations back while others run, so that a
 * call that returned and waited for one is a proof too: the calls are gone through from the last
 * to the first, and each launch is looked up among the proofs that came after it.
 */
#include "report/analyse/stalls/flight_work.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/rules.h"
#include "report/store/database.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* How far back: in rows, since there is no index. */
#define GV_FLIGHT_LOOK_BACK "20000"
/* Proofs that are remembered; with fewer, more launches count as unfinished. */
#define GV_FLIGHT_PROOFS 256
#define GV_FLIGHT_APIS   64

enum {
    GV_WORK_API,
    GV_WORK_NAME,
    GV_WORK_CLASS,
    GV_WORK_START_NS,
    GV_WORK_STREAM,
    GV_WORK_CONTEXT,
    GV_WORK_OBJECT,
    GV_WORK_IS_LAUNCH,
    GV_WORK_HAS_ENDED,
    GV_WORK_KERNEL,
    GV_WORK_HANDLE,
    GV_WORK_CALL,
};

static const char gv_flight_work_sql[] =
    "WITH ended AS (SELECT call FROM (SELECT call, duration_ns FROM gpu_op ORDER BY id DESC"
    "  LIMIT " GV_FLIGHT_LOOK_BACK ") WHERE call IS NOT NULL AND duration_ns IS NOT NULL)"
    " SELECT a.id, a.name, a.class, c.start_ns, c.stream, coalesce(c.context, s.context), c.object,"
    "  a.class IN ('launch', 'graph') AND (c.kernel IS NOT NULL OR c.correlation IS NOT NULL),"
    "  c.id IN (SELECT call FROM ended), k.name, s.handle, c.id"
    " FROM (SELECT * FROM call ORDER BY id DESC LIMIT " GV_FLIGHT_LOOK_BACK ") c"
    " JOIN thread t ON t.id = c.thread JOIN api a ON a.id = c.api LEFT JOIN stream s ON s.id = "
    "c.stream"
    " LEFT JOIN kernel k ON k.id = c.kernel"
    " WHERE t.process = ?1 AND c.result = 0 ORDER BY c.start_ns DESC, c.id DESC";

/* All of the stream, or of the context, or all, that was there before has ended. */
struct gv_flight_proof {
    int64_t stream, context;
    int64_t event; /* waited for: where it was recorded is still to come */
};

struct gv_flight_proofs {
    struct gv_flight_proof list[GV_FLIGHT_PROOFS];
    size_t count;
    int64_t api[GV_FLIGHT_APIS];
    const struct gv_stall_rule *rule[GV_FLIGHT_APIS];
};

static const struct gv_stall_rule *gv_flight_rule_of(struct gv_flight_proofs *proofs,
                                                     sqlite3_stmt *row)
{
    int64_t api = sqlite3_column_int64(row, GV_WORK_API);
    size_t at = (uint64_t)api % GV_FLIGHT_APIS;

    if (!proofs->rule[at] || proofs->api[at] != api) {
        const char *name = (const char *)sqlite3_column_text(row, GV_WORK_NAME);
        const char *class_name = (const char *)sqlite3_column_text(row, GV_WORK_CLASS);
        proofs->api[at] = api;
        proofs->rule[at] = gv_stall_rule_find(name ? name : "", class_name ? class_name : "");
    }
    return proofs->rule[at];
}

static void gv_flight_proof_add(struct gv_flight_proofs *proofs, struct gv_flight_proof proof)
{
    for (size_t i = 0; i < proofs->count; i++)
        if (memcmp(&proofs->list[i], &proof, sizeof(proof)) == 0)
            return;
    if (proofs->count < GV_FLIGHT_PROOFS)
        proofs->list[proofs->count++] = proof;
}

/* What a call that returned proves of all that was launched before it. */
static void gv_flight_prove(struct gv_flight_proofs *proofs, sqlite3_stmt *row)
{
    const struct gv_stall_rule *rule = gv_flight_rule_of(proofs, row);
    int64_t stream = sqlite3_column_int64(row, GV_WORK_STREAM);
    int64_t object = sqlite3_column_int64(row, GV_WORK_OBJECT);

    if (rule->flags & GV_CALL_MARKS_EVENT) {
        for (size_t i = 0; i < proofs->count; i++)
            if (object && proofs->list[i].event == object && stream)
                proofs->list[i] = (struct gv_flight_proof){.stream = stream};
        return;
    }
    if (!(rule->flags & (GV_CALL_DRAINS | GV_CALL_DRAINS_IF_0)))
        return;
    if (rule->flags & GV_CALL_OF_EVENT)
        gv_flight_proof_add(proofs, (struct gv_flight_proof){.event = object});
    else if (rule->scope == GV_SCOPE_STREAM && stream)
        gv_flight_proof_add(proofs, (struct gv_flight_proof){.stream = stream});
    else if (rule->scope == GV_SCOPE_CONTEXT)
        gv_flight_proof_add(proofs, (struct gv_flight_proof){
                                        .context = sqlite3_column_int64(row, GV_WORK_CONTEXT)});
}

static bool gv_flight_is_proven(const struct gv_flight_proofs *proofs, sqlite3_stmt *row)
{
    int64_t stream = sqlite3_column_int64(row, GV_WORK_STREAM);
    int64_t context = sqlite3_column_int64(row, GV_WORK_CONTEXT);

    for (size_t i = 0; i < proofs->count; i++) {
        const struct gv_flight_proof *proof = &proofs->list[i];
        if (proof->event)
            continue;
        if (proof->stream ? proof->stream == stream
                          : !proof->context || !context || proof->context == context)
            return true;
    }
    return false;
}

static void gv_flight_work_row(struct gv_flight_proofs *proofs, sqlite3_stmt *row,
                               const int64_t *stream, struct gv_flight_work *work)
{
    if (sqlite3_column_int(row, GV_WORK_IS_LAUNCH)) {
        if (stream && sqlite3_column_int64(row, GV_WORK_HANDLE) != *stream)
            return;
        if (sqlite3_column_int(row, GV_WORK_HAS_ENDED) || gv_flight_is_proven(proofs, row))
            return;
        work->unfinished++;
        work->start_ns = sqlite3_column_int64(row, GV_WORK_START_NS);
        work->call = sqlite3_column_int64(row, GV_WORK_CALL);
        gv_kernel_name_short((const char *)sqlite3_column_text(row, GV_WORK_KERNEL), work->kernel,
                             sizeof(work->kernel));
    } else {
        gv_flight_prove(proofs, row);
    }
}

int gv_flight_work_read(sqlite3 *trace, int64_t process, const int64_t *stream,
                        struct gv_flight_work *work)
{
    struct gv_flight_proofs proofs = {.count = 0};
    sqlite3_stmt *rows = NULL;
    int result = sqlite3_prepare_v2(trace, gv_flight_work_sql, -1, &rows, NULL);

    memset(work, 0, sizeof(*work));
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(rows, 1, process);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(rows);
        if (result == SQLITE_ROW)
            gv_flight_work_row(&proofs, rows, stream, work);
    }
    sqlite3_finalize(rows);
    return gv_database_error(trace, result);
}
