#include "tests/unit/report/stall_fixture.h"

#include "report/analyse/stalls/analysis.h"
#include "report/store/api_meaning.h"
#include "report/store/schema.h"
#include "trace/call_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

sqlite3 *fixture_trace;
static enum fixture_mode current;
static int next_call, next_op;

/* The ids of the first process's rows; those of the second one are 10 higher. */
static const char things[] =
    "INSERT INTO process (id, identity, pid, program, start_ns, gpu) VALUES"
    " (1, 1, 101, 'seen', -100000000000, 'cupti'),"
    " (11, 2, 102, 'unseen', -100000000000, 'host-only');"
    "INSERT INTO thread (id, process, serial, tid, records) VALUES"
    " (1, 1, 1, 1001, 0), (2, 1, 2, 1002, 0), (11, 11, 1, 1011, 0), (12, 11, 2, 1012, 0);"
    "INSERT INTO context (id, process, handle) VALUES (1, 1, 1), (2, 1, 2), (11, 11, 1), (12, 11, "
    "2);"
    "INSERT INTO stream (id, process, context, handle, kind) VALUES (1, 1, 1, 5, 'created'),"
    " (2, 1, 1, 6, 'created'), (3, 1, 1, 0, 'legacy default'), (4, 1, 2, 7, 'created'),"
    " (11, 11, 11, 5, 'created'), (12, 11, 11, 6, 'created'), (13, 11, 11, 0, 'legacy default'),"
    " (14, 11, 12, 7, 'created');"
    "INSERT INTO module (id, process, number) VALUES (1, 1, 1), (2, 1, 2), (11, 11, 1), (12, 11, "
    "2);"
    "INSERT INTO kernel (id, process, number, name, module) VALUES (1, 1, 1, 'spin', 1),"
    " (2, 1, 2, 'lazy', 2), (3, 1, 3, 'deep', 1), (11, 11, 1, 'spin', 11), (12, 11, 2, 'lazy', 12),"
    " (13, 11, 3, 'deep', 11);"
    "INSERT INTO api (id, name, class) VALUES (1, 'cuModuleLoadData', 'load'),"
    " (2, 'cuLibraryLoadData', 'load');"
    /* loads the kernels, before anything else */
    "INSERT INTO load (thread, api, start_ns, duration_ns, result, kind, module) VALUES"
    " (1, 1, -9000, 10, 0, 'cubin', 1), (1, 2, -9000, 10, 0, 'library', 2),"
    " (11, 1, -9000, 10, 0, 'cubin', 11), (11, 2, -9000, 10, 0, 'library', 12);"
    "INSERT INTO device (process, device, cc_major, cc_minor) VALUES (1, 0, 9, 0);"
    "INSERT INTO gpu_name (id, process, number, name) VALUES (1, 1, 1, 'spin'), (2, 1, 2, 'lazy'),"
    " (3, 1, 3, 'deep');"
    "INSERT INTO gpu_shape (id, process, number, name, local_bytes) VALUES (1, 1, 1, 1, 0),"
    " (2, 1, 2, 2, 0), (3, 1, 3, 3, 4096);"
    "INSERT INTO gpu_place (id, process, device, context, stream) VALUES (1, 1, 0, 1, 5),"
    " (2, 1, 0, 1, 6), (3, 1, 0, 1, 7), (4, 1, 1, 2, 8);";

static const char *class_of(const char *name)
{
    int api = gv_api_find(name);

    if (api == GV_API_UNKNOWN)
        fail_msg("%s is no call", name);
    return gv_api_class_rows[gv_api_rows[api].class].name;
}

void fixture_sql(const char *format, ...)
{
    va_list arguments;
    char *sql, *message = NULL;

    va_start(arguments, format);
    sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    if (sqlite3_exec(fixture_trace, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_free(sql);
}

int fixture_setup(void **state)
{
    assert_int_equal(sqlite3_open(":memory:", &fixture_trace), SQLITE_OK);
    assert_int_equal(sqlite3_exec(fixture_trace, gv_schema_sql, NULL, NULL, NULL), SQLITE_OK);
    fixture_sql("%s", things);
    next_call = next_op = 1;
    current = MEASURED;
    return 0;
}

int fixture_teardown(void **state)
{
    assert_int_equal(sqlite3_close(fixture_trace), SQLITE_OK);
    return 0;
}

void fixture_mode(enum fixture_mode mode)
{
    current = mode;
}

void fixture_variable(const char *name, const char *value)
{
    fixture_sql("INSERT OR REPLACE INTO variable VALUES (1, '%s', '%s'), (11, '%s', '%s')", name,
                value, name, value);
}

static int row(int number)
{
    return number && current == INFERRED ? number + 10 : number;
}

int call_of(const char *name, int64_t start_us, int64_t us, struct facts facts)
{
    fixture_sql("INSERT INTO api (name, class) SELECT '%s', '%s' WHERE NOT EXISTS"
                " (SELECT 1 FROM api WHERE name = '%s');"
                "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context,"
                " bytes, object, kernel) VALUES (%d, %d, (SELECT id FROM api WHERE name = '%s'),"
                " %lld, %lld, %d, nullif(%d, 0), %d, nullif(%lld, 0), nullif(%lld, 0),"
                " nullif(%d, 0))",
                name, class_of(name), name, next_call, row(facts.thread ? facts.thread : 1), name,
                (long long)start_us * 1000, (long long)us * 1000, facts.result, row(facts.stream),
                row(facts.context ? facts.context : 1), (long long)facts.bytes,
                (long long)facts.object, row(facts.kernel));
    return next_call++;
}

int ran(int call, int stream, int kernel, int64_t start_us, int64_t us)
{
    if (current == INFERRED)
        return 0;
    fixture_sql("INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call) VALUES"
                " (%d, %d, %d, nullif(%d, 0), %lld, %lld, %d)",
                next_op, stream, kernel ? 1 : 2, kernel, (long long)start_us * 1000,
                (long long)us * 1000, call);
    return next_op++;
}

int launched(int64_t at_us, int stream, int kernel, int64_t start_us, int64_t us)
{
    return ran(CALL("cuLaunchKernel", at_us, 5, .stream = stream, .kernel = kernel,
                    .context = stream == STREAM_OTHER ? 2 : 1),
               stream, kernel, start_us, us);
}

int hosted(int64_t at_us, int stream, int64_t start_us, int64_t us)
{
    int call = CALL("cuLaunchHostFunc", at_us, 5, .stream = stream,
                    .context = stream == STREAM_OTHER ? 2 : 1);

    fixture_sql("INSERT INTO host_function (process, number, call, start_ns, duration_ns) VALUES"
                " (%d, %d, %d, %lld, %lld)",
                row(1), call, call, (long long)start_us * 1000, (long long)us * 1000);
    return call;
}

void came(int call)
{
    if (current == MEASURED)
        fixture_sql("INSERT INTO gpu_module (process, number, at_ns, call) VALUES (1, %d, 0, %d)",
                    call, call);
}

void loaded(int call, const char *image, int64_t hash)
{
    fixture_sql("INSERT INTO load (thread, api, call, start_ns, duration_ns, result, kind, image,"
                " bytes, hash) SELECT thread, api, id, start_ns, duration_ns, 0, '%s', '%s', 4711,"
                " %lld FROM call WHERE id = %d",
                image, image, (long long)hash, call);
    came(call);
}

void compiled(int call, int64_t start_us, int64_t us)
{
    if (current == MEASURED)
        fixture_sql("INSERT INTO jit (process, start_ns, duration_ns, call) VALUES"
                    " (1, %lld, %lld, %d)",
                    (long long)start_us * 1000, (long long)us * 1000, call);
}

void analyse_stalls(void)
{
    struct gv_pass *pass = NULL;

    assert_int_equal(gv_pass_open(&pass, fixture_trace, 0), 0);
    assert_int_equal(gv_stalls_analyse(fixture_trace, 100000, pass), 0);
    gv_pass_close(pass);
}

void expect(const char *lines)
{
    static const char sql[] =
        "SELECT printf('%d %s %d+%d+%d', call, cause, (jit_ns + 5000) / 10000 * 10,"
        " (wait_ns + 5000) / 10000 * 10, (work_ns + 5000) / 10000 * 10) ||"
        " coalesce(' for ' || waited_for, '') || coalesce(' by ' || blocked_by, '') ||"
        " coalesce(' ' || other_did || coalesce(' of ' || other_name, ''), '') ||"
        " coalesce(' drained ' || drained_count, '') || coalesce(' presumed ' || presumed, '') ||"
        " coalesce(' host ' || (SELECT h.call FROM host_functions h WHERE h.id = host_function), "
        "'') ||"
        " CASE expected WHEN 1 THEN ' expected' ELSE '' END, confidence,"
        " jit_ns + wait_ns + work_ns = duration_ns, advice IS NOT NULL OR expected,"
        " CASE cause WHEN 'descheduled' THEN 'measured' WHEN 'other-process' THEN 'inferred' END"
        " FROM stalls"
        " ORDER BY id";
    char found[8192] = "";
    sqlite3_stmt *rows = NULL;

    assert_int_equal(gv_api_meaning_fill(fixture_trace), 0);
    analyse_stalls();
    assert_int_equal(sqlite3_prepare_v2(fixture_trace, sql, -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        size_t used = strlen(found);
        snprintf(found + used, sizeof(found) - used, "%s\n", sqlite3_column_text(rows, 0));
        if (sqlite3_column_type(rows, 4) != SQLITE_NULL)
            assert_string_equal((const char *)sqlite3_column_text(rows, 1),
                                (const char *)sqlite3_column_text(rows, 4));
        else if (current != BOTH)
            assert_string_equal((const char *)sqlite3_column_text(rows, 1),
                                current == MEASURED ? "measured" : "inferred");
        assert_int_equal(sqlite3_column_int(rows, 2), 1);
        assert_int_equal(sqlite3_column_int(rows, 3), 1);
    }
    sqlite3_finalize(rows);
    assert_string_equal(found, lines);
}
