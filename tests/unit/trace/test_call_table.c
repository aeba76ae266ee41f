/* The table of calls: names, kinds, and what kinds mean. */
#include "tests/unit/report/cmocka_all.h"

#include "report/store/api_meaning.h"
#include "report/store/schema.h"
#include "report/store/trusted_schema.h"
#include "trace/call_table.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static enum gv_call_kind kind_of(const char *name)
{
    return gv_call_kind_find(name, "");
}

static void calls_are_found_by_their_exact_names(void **state)
{
    static const char *const others[] = {
        "cu", "cuda", "cudnnCreate", "cuInit ", "cuLaunchKerne", "cuFoo", "cuLaunchKernel_", ""};

    (void)state;
    assert_true(GV_API_COUNT > 600);
    for (int api = 0; api < GV_API_COUNT; api++) {
        assert_int_equal(gv_api_find(gv_api_rows[api].name), api);
        assert_int_equal(gv_api_rows[api].class, gv_call_kinds[gv_api_rows[api].kind].class);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(gv_api_find(others[i]), GV_API_UNKNOWN);
        assert_int_equal(kind_of(others[i]), GV_KIND_COUNT);
    }
}

/* Of what later calls need, there is a record. */
static void what_later_calls_need_is_followed_while_stopped(void **state)
{
    static const struct {
        const char *name;
        bool skipped;
    } rows[] = {
        {"cuLaunchKernel", true},          {"cuGraphExecKernelNodeSetParams_v2", true},
        {"cudaGraphNodeSetEnabled", true}, {"cuGraphInstantiateWithFlags", false},
        {"cuGraphExecUpdate_v2", false},   {"cuFuncGetAttribute", true},
        {"cuKernelGetFunction", false},    {"cuModuleGetFunction", false},
        {"cudaStreamIsCapturing", true},   {"cuStreamBeginCapture_v2", false},
        {"cuStreamCreate", false},         {"cuCtxSetCurrent", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (gv_call_kinds[kind_of(rows[i].name)].skipped != rows[i].skipped)
            fail_msg("%s", rows[i].name);
}

static void a_row_says_what_its_call_means(void **state)
{
    static const struct {
        const char *name;
        enum gv_call_kind kind;
    } rows[] = {
        {"cuInit", GV_KIND_INIT},
        {"cuCtxCreate_v4", GV_KIND_CONTEXT_CREATE},
        {"cuDevicePrimaryCtxRelease_v2", GV_KIND_CONTEXT_RELEASE},
        {"cudaDeviceReset", GV_KIND_DEVICE_RESET},
        {"cudaThreadSetLimit", GV_KIND_LIMIT},
        {"cuModuleLoadDataEx", GV_KIND_MODULE_LOAD},
        {"cudaLibraryLoadFromFile", GV_KIND_LIBRARY_LOAD},
        {"cuModuleGetFunction", GV_KIND_LOOKUP},
        {"cudaFuncGetAttributes", GV_KIND_FUNCTION_ASK},
        {"cudaFuncSetAttribute", GV_KIND_FUNCTION_USE},
        {"__cudaLaunchKernel_ptsz", GV_KIND_LAUNCH},
        {"cudaGraphLaunch", GV_KIND_GRAPH_LAUNCH},
        {"cuLaunchHostFunc_ptsz", GV_KIND_HOST_FUNCTION},
        {"cuMemcpyHtoD_v2_ptds", GV_KIND_COPY},
        {"cudaMemcpyBatchAsync", GV_KIND_COPY_ASYNC},
        {"cuMemPrefetchBatchAsync", GV_KIND_PREFETCH},
        {"cudaMemset", GV_KIND_SET},
        {"cudaEventSynchronize", GV_KIND_EVENT_SYNC},
        {"cuMemAllocManaged", GV_KIND_ALLOC_MANAGED},
        {"cudaMallocAsync_ptsz", GV_KIND_ALLOC_ORDERED},
        {"cuMemCreate", GV_KIND_ALLOC_PHYSICAL},
        {"cudaMemGetInfo", GV_KIND_ASK_FREE},
        {"cuPointerGetAttributes", GV_KIND_ASK_ADDRESS},
        {"cudaIpcCloseMemHandle", GV_KIND_RELEASE},
        {"cudaFreeHost", GV_KIND_FREE_HOST},
        {"cuStreamQuery_ptsz", GV_KIND_STREAM_QUERY},
        {"cudaStreamBeginCaptureToGraph", GV_KIND_CAPTURE_BEGIN},
        {"cuEventRecordWithFlags", GV_KIND_EVENT_RECORD},
        {"cuGraphExecKernelNodeSetParams_v2", GV_KIND_GRAPH_CHANGE},
        {"ncclAllReduce", GV_KIND_COLLECTIVE},
        {"ncclGroupEnd", GV_KIND_GROUP_END},
        {"ncclCommInitRankConfig", GV_KIND_COMMUNICATOR},
        {"ncclMemFree", GV_KIND_COLLECTIVE_MEMORY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (kind_of(rows[i].name) != rows[i].kind)
            fail_msg("%s is of kind %s", rows[i].name, gv_call_kinds[kind_of(rows[i].name)].name);
}

/* cuMemcpyHtoD, cuMemcpyHtoD_v2 and cuMemcpyHtoD_v2_ptds are one call. */
static void variants_of_a_call_mean_the_same(void **state)
{
    int compared = 0;

    (void)state;
    for (int api = 0; api < GV_API_COUNT; api++) {
        const char *name = gv_api_rows[api].name, *end = strstr(name, "_pt");
        char base[128];
        int length = end ? (int)(end - name) : (int)strlen(name);

        if (length > 3 && name[length - 3] == '_' && name[length - 2] == 'v')
            length -= 3;
        snprintf(base, sizeof(base), "%.*s", length, name);
        if (gv_api_find(base) == GV_API_UNKNOWN)
            continue;
        if (kind_of(base) != gv_api_rows[api].kind)
            fail_msg("%s and %s are of different kinds", base, name);
        compared += length < (int)strlen(name);
    }
    assert_true(compared > 200);
}

static void kinds_contradict_themselves_nowhere(void **state)
{
    (void)state;
    for (int i = 0; i < GV_KIND_COUNT; i++) {
        const struct gv_call_kind_row *kind = &gv_call_kinds[i];
        bool scoped = kind->scope != GV_SCOPE_NOTHING;

        assert_true(kind->work == GV_GPU_WORK_NONE || kind->flags & GV_CALL_SUBMITS);
        assert_true(kind->work == GV_GPU_WORK_NONE || kind->flags & GV_CALL_CORRELATED);
        assert_true(!(kind->flags & GV_CALL_LAZY) || kind->flags & GV_CALL_CORRELATED);
        assert_true(!(kind->flags & GV_CALL_HOLDS) || kind->flags & GV_CALL_HELD);
        assert_true(scoped || !(kind->flags & (GV_CALL_DRAINS | GV_CALL_DRAINS_IF_0)));
    }
}

static void a_call_that_the_table_lacks_is_like_its_class(void **state)
{
    (void)state;
    for (int i = 0; i < GV_CLASS_COUNT; i++) {
        enum gv_call_kind kind = gv_call_kind_find("cuOfTomorrow", gv_api_class_rows[i].name);
        assert_int_equal(gv_call_kinds[kind].class, i);
    }
    assert_int_equal(gv_call_kind_find("cuOfTomorrow", "copy"), GV_KIND_COPY_ASYNC);
    assert_int_equal(gv_call_kind_find("cuOfTomorrow", "new"), GV_KIND_COUNT);
    assert_null(gv_call_kinds[GV_KIND_COUNT].name);
    assert_int_equal(gv_call_kinds[GV_KIND_COUNT].flags, GV_CALL_WORKS);
}

static void names_tell_the_runtime_and_its_threads(void **state)
{
    (void)state;
    for (int api = 0; api < GV_API_COUNT; api++)
        assert_int_equal(gv_api_is_runtime(gv_api_rows[api].name), gv_api_in_runtime(api));
    assert_true(gv_api_is_per_thread("cuMemcpyHtoD_v2_ptds"));
    assert_true(gv_api_is_per_thread("cudaLaunchKernel_ptsz"));
    assert_false(gv_api_is_per_thread("cuMemcpy"));
    assert_false(gv_api_is_per_thread("_ptsz"));
    assert_false(gv_api_is_per_thread(""));
}

static sqlite3 *trace;

static void execute(const char *sql)
{
    if (sqlite3_exec(trace, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(trace));
}

static void expect(const char *sql, const char *text)
{
    sqlite3_stmt *row = NULL;

    assert_int_equal(sqlite3_prepare_v2(trace, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), text);
    sqlite3_finalize(row);
}

static const char meaning[] =
    "SELECT group_concat(name || coalesce(' ' || kind, '') || ' ' || gpu_work || memory ||"
    " starts_cuda || begins_capture || ends_capture || awaits_event || every_context, '; ')"
    " FROM (SELECT * FROM api ORDER BY id)";
static const char calls[] =
    "INSERT INTO api (id, name, class) VALUES (1, 'cuInit', 'init'), (2, 'cudaGraphLaunch',"
    " 'launch'), (3, 'cuStreamEndCapture', 'stream'), (4, 'cudaLibraryLoadData', 'load'), (5,"
    " 'cudaMallocManaged', 'alloc'), (6, 'cuOfTomorrow', 'set'), (7, 'cuFoo', 'new')";
static const char expected[] =
    "cuInit init 0010000; cudaGraphLaunch graph-launch 2000000; cuStreamEndCapture capture-end"
    " 0000100; cudaLibraryLoadData library-load 0000001; cudaMallocManaged alloc-managed 0300000;"
    " cuOfTomorrow set 3000000; cuFoo 0000000";

static int setup(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &trace), SQLITE_OK);
    execute(gv_schema_sql);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sqlite3_close(trace);
    return 0;
}

static void the_trace_says_it_too(void **state)
{
    (void)state;
    execute(calls);
    assert_int_equal(gv_api_meaning_fill(trace), 0);
    expect(meaning, expected);
    execute("UPDATE api SET kind = 'kept'");
    assert_int_equal(gv_api_meaning_fill(trace), 0);
    expect("SELECT count(*) FROM api WHERE kind = 'kept'", "7");
}

static void readers_know_what_a_trace_does_not_say(void **state)
{
    int64_t version;

    (void)state;
    execute(calls);
    assert_int_equal(gv_trusted_schema_ensure(trace, &version), 0);
    expect(meaning, expected);
    expect("SELECT count(*) FROM main.api WHERE kind IS NOT NULL", "0");
}

static void readers_know_what_an_earlier_trace_could_not_say(void **state)
{
    int64_t version;

    (void)state;
    execute("PRAGMA user_version = 5; DROP TABLE api; CREATE TABLE api (id INTEGER PRIMARY KEY,"
            " name TEXT NOT NULL, class TEXT NOT NULL)");
    execute(calls);
    assert_int_equal(gv_trusted_schema_ensure(trace, &version), 0);
    expect(meaning, expected);
    execute("INSERT INTO call (id, thread, api, start_ns, duration_ns) VALUES (1, 1, 2, 0, 1)");
    expect("SELECT call_kind FROM calls", "graph-launch");
}

static void another_table_of_calls_is_refused(void **state)
{
    int64_t version;

    (void)state;
    execute("PRAGMA user_version = 5; DROP TABLE api;"
            "CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT, class TEXT)");
    assert_int_equal(gv_trusted_schema_ensure(trace, &version), -EBADMSG);
    execute("DROP TABLE api; CREATE VIEW api AS SELECT 1 AS id, 'cuInit' AS name, 'init' AS class");
    assert_int_equal(gv_trusted_schema_ensure(trace, &version), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_found_by_their_exact_names),
        cmocka_unit_test(a_row_says_what_its_call_means),
        cmocka_unit_test(what_later_calls_need_is_followed_while_stopped),
        cmocka_unit_test(variants_of_a_call_mean_the_same),
        cmocka_unit_test(kinds_contradict_themselves_nowhere),
        cmocka_unit_test(a_call_that_the_table_lacks_is_like_its_class),
        cmocka_unit_test(names_tell_the_runtime_and_its_threads),
        cmocka_unit_test_setup_teardown(the_trace_says_it_too, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_know_what_a_trace_does_not_say, setup, teardown),
        cmocka_unit_test_setup_teardown(readers_know_what_an_earlier_trace_could_not_say, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(another_table_of_calls_is_refused, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
