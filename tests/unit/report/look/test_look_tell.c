/* What `gpuverify look` says of what it saw. */
#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/ledger/accounts.h"
#include "report/look/processes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct gv_look_thread threads[3];
static struct gv_look look;
static char summary[GV_LOOK_SAID_BYTES], advice[GV_LOOK_SAID_BYTES];

static int setup(void **state)
{
    memset(threads, 0, sizeof(threads));
    look =
        (struct gv_look){.pid = 1, .looks = 20, .thread = threads, .threads = 3, .uses_cuda = true};
    for (unsigned i = 0; i < 3; i++) {
        threads[i].tid = i + 1;
        threads[i].looks = 20;
        snprintf(threads[i].name, sizeof(threads[i].name), "t%u", i + 1);
    }
    return 0;
}

static void did(unsigned thread, unsigned looks, unsigned what, const char *where)
{
    struct gv_look_thread *of = &threads[thread - 1];
    struct gv_look_part *part = &of->part[of->parts++];

    *part = (struct gv_look_part){.what = what, .class = GV_CLASS_COUNT, .looks = looks};
    snprintf(part->where, sizeof(part->where), "%s", where);
}

static void called(unsigned thread, unsigned looks, const char *call, const char *where)
{
    int api = gv_api_find(call);

    did(thread, looks, GV_ACCOUNT_UNKNOWN, where);
    struct gv_look_part *part = &threads[thread - 1].part[threads[thread - 1].parts - 1];
    snprintf(part->call, sizeof(part->call), "%s", call);
    part->class = api == GV_API_UNKNOWN ? GV_CLASS_COUNT : gv_api_rows[api].class;
    threads[thread - 1].in_calls += looks;
}

static void expect(int busy, const char *said)
{
    gv_look_sum_up(&look, busy, summary, advice);
    assert_string_equal(summary, said);
}

static void a_wait_depends_on_the_gpu(void **state)
{
    called(1, 20, "cuStreamSynchronize", "train.py:88 step");
    expect(-1, "The GPU is busy, or hangs: the main thread waits for the GPU in cuStreamSynchronize"
               " at train.py:88 step, in 20 of 20 looks.");
    expect(100, "The GPU is busy: the main thread waits for the GPU in cuStreamSynchronize at"
                " train.py:88 step, in 20 of 20 looks.");
    expect(0, "Hangs, or waits for another process: the GPU does nothing: the main thread waits for"
              " the GPU in cuStreamSynchronize at train.py:88 step, in 20 of 20 looks.");
    assert_non_null(strstr(advice, "does not come"));
}

static void who_calls_says_most(void **state)
{
    did(1, 20, GV_ACCOUNT_THREAD_LOCK, "train.py:9 main");
    called(2, 11, "ncclAllReduce", "train.py:50 sync");
    did(2, 9, GV_ACCOUNT_PYTHON, "train.py:51 next");
    expect(-1,
           "Waits for other ranks, or hangs: thread 2 (t2) meets other ranks in ncclAllReduce at"
           " train.py:50 sync, in 11 of 20 looks; it is running Python at train.py:51 next, in 9.");
}

static void a_call_without_a_name(void **state)
{
    called(1, 20, "libcuda.so.1", "");
    expect(-1,
           "The host is inside a CUDA call: the main thread is in a call of libcuda.so.1, in 20 of"
           " 20 looks.");
}

static void a_worker_says_more_than_who_waits_for_it(void **state)
{
    did(1, 20, GV_ACCOUNT_THREAD_LOCK, "serve.py:9 main");
    did(3, 20, GV_ACCOUNT_SLEEP, "serve.py:30 work");
    threads[2].runs_python = true;
    expect(3, "The GPU is idle: thread 3 (t3) is sleeping at serve.py:30 work, in 20 of 20 looks.");
    assert_string_equal(advice,
                        "Sleep less; instead of polling for something, wait for it directly "
                        "(cudaEventSynchronize, a condition variable).");
    look.uses_cuda = false;
    expect(-1, "It does not use CUDA: thread 3 (t3) is sleeping at serve.py:30 work, in 20 of 20"
               " looks.");
}

static void without_a_cpu_at_the_same_line(void **state)
{
    did(1, 12, GV_ACCOUNT_NATIVE, "m.c:5 work");
    threads[0].part[0].without_cpu = 5;
    look.uses_cuda = true;
    expect(3, "The GPU is idle: the main thread is running native code on the CPU at m.c:5 work"
              " (without a CPU in 5), in 12 of 20 looks.");
    assert_string_equal(advice, gv_account_say(GV_ACCOUNT_NATIVE).advice);
    threads[0].part[0].without_cpu = 7;
    expect(3, "The GPU is idle: the main thread is running native code on the CPU at m.c:5 work"
              " (without a CPU in 7), in 12 of 20 looks.");
    assert_string_equal(advice, gv_account_say(GV_ACCOUNT_NO_CPU).advice);
}

/* A call that waits for the GPU though the program did not ask for that, if the driver's own code
 * is innermost; not if a compiler's is. */
static void a_call_that_can_wait(void **state)
{
    called(1, 20, "cuModuleLoadData", "serve.py:9 load");
    expect(-1, "The host is inside a CUDA call: the main thread loads code in cuModuleLoadData at"
               " serve.py:9 load, in 20 of 20 looks.");
    assert_string_equal(advice, "");
    threads[0].part[0].in_driver = 19;
    expect(-1,
           "The host is inside a CUDA call that can wait for the GPU: the main thread loads code"
           " in cuModuleLoadData at serve.py:9 load, in 20 of 20 looks.");
    assert_string_equal(advice,
                        "If it waits: code can be loaded onto the GPU only when its context is"
                        " idle. Load code before the GPU has work.");
    expect(100, "The GPU is busy, and the host may wait for it: the main thread loads code in"
                " cuModuleLoadData at serve.py:9 load, in 20 of 20 looks.");
    expect(0, "The GPU is idle: the main thread loads code in cuModuleLoadData at serve.py:9 load,"
              " in 20 of 20 looks.");
    assert_string_equal(advice, "");
}

static void each_call_that_can_wait_has_whole_sentences(void **state)
{
    called(1, 20, "cuMemFree_v2", "a.c:5 f");
    for (int api = 0; api < GV_API_COUNT; api++) {
        struct gv_look_part *part = &threads[0].part[0];
        snprintf(part->call, sizeof(part->call), "%s", gv_api_rows[api].name);
        part->class = gv_api_rows[api].class;
        part->in_driver = 20;
        gv_look_sum_up(&look, -1, summary, advice);
        if (advice[0] == '\0')
            continue;
        assert_int_equal(advice[strlen(advice) - 1], '.');
        assert_null(strpbrk(advice, "{}"));
    }
    /* It waits for nothing. */
    threads[0].parts = threads[0].in_calls = 0;
    called(1, 20, "cuMemAlloc_v2", "a.c:5 f");
    threads[0].part[0].in_driver = 20;
    expect(-1, "The host is inside a CUDA call: the main thread allocates memory in cuMemAlloc_v2"
               " at a.c:5 f, in 20 of 20 looks.");
    assert_string_equal(advice, "");
}

static void locks_in_a_circle(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        did(i + 1, 20, GV_ACCOUNT_THREAD_LOCK, "a.c:5 f");
        threads[i].part[0].waits_for = (i + 1) % 3 + 1;
    }
    expect(-1, "Hangs: threads wait for each other's locks: the main thread at a.c:5 f waits for"
               " that of thread 2, thread 2 (t2) at a.c:5 f waits for that of thread 3, thread 3"
               " (t3) at a.c:5 f waits for that of thread 1.");
    /* Not in one: the last one has what it wants. */
    threads[2].part[0].waits_for = 0;
    gv_look_sum_up(&look, -1, summary, advice);
    assert_null(strstr(summary, "Hangs"));
    assert_non_null(strstr(summary, "(thread 2, t2, has the lock)"));
}

static void rank(unsigned number, bool waits, const char *did_it)
{
    static struct gv_look_processes processes;

    if (number == 0)
        processes.count = 0;
    struct gv_look_process *process = &processes.process[processes.count++];
    *process = (struct gv_look_process){.rank = number, .waits = waits};
    snprintf(process->did, sizeof(process->did), "%s", did_it);
    gv_look_ranks_say(&processes, summary);
}

static void ranks_that_wait_for_one(void **state)
{
    rank(0, true, "waits for the GPU in f at a.py:1 g");
    assert_string_equal(summary, "");
    rank(1, false, "is sleeping at a.py:2 h");
    rank(2, true, "waits for the GPU in f at a.py:1 g");
    assert_string_equal(summary,
                        "Rank 1 may hold up the others: it is sleeping at a.py:2 h. Ranks 0,"
                        " 2: each waits for the GPU in f at a.py:1 g.");
    rank(0, true, "meets other ranks in ncclAllReduce");
    rank(1, true, "meets other ranks in ncclBroadcast");
    assert_string_equal(summary, "All ranks wait: a collective ends when each rank has come to the"
                                 " same one. Rank 0: it meets other ranks in ncclAllReduce. Rank 1:"
                                 " it meets other ranks in ncclBroadcast.");
    rank(0, false, "is sleeping");
    rank(1, false, "is sleeping");
    assert_string_equal(summary, "");
}

static void who_has_ended_is_left_out(void **state)
{
    static struct gv_look_processes processes;

    uint32_t own = (uint32_t)getpid();
    uint64_t start = gv_outside_start(own, own);

    processes.count = 3;
    processes.process[0] = (struct gv_look_process){.pid = 2147483646};
    processes.process[1] = (struct gv_look_process){.pid = own, .start = start};
    processes.process[2] = (struct gv_look_process){.pid = own, .start = start - 1}; /* another */
    gv_look_processes_watch(&processes, 2, 1, UINT64_MAX);
    assert_int_equal(processes.count, 1);
    assert_int_equal(processes.process[0].pid, getpid());
}

static void nothing_was_seen(void **state)
{
    expect(-1, "Nothing of its threads could be seen.");
    look.threads = 0;
    expect(-1, "Nothing of its threads could be seen.");
    look.status.state = 'T';
    expect(-1, "It is stopped: kill -CONT 1 lets it go on. Nothing of its threads could be seen.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_wait_depends_on_the_gpu, setup),
        cmocka_unit_test_setup(who_calls_says_most, setup),
        cmocka_unit_test_setup(a_call_without_a_name, setup),
        cmocka_unit_test_setup(a_worker_says_more_than_who_waits_for_it, setup),
        cmocka_unit_test_setup(without_a_cpu_at_the_same_line, setup),
        cmocka_unit_test_setup(a_call_that_can_wait, setup),
        cmocka_unit_test_setup(each_call_that_can_wait_has_whole_sentences, setup),
        cmocka_unit_test_setup(locks_in_a_circle, setup),
        cmocka_unit_test_setup(ranks_that_wait_for_one, setup),
        cmocka_unit_test_setup(who_has_ended_is_left_out, setup),
        cmocka_unit_test_setup(nothing_was_seen, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
