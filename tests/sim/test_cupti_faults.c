/* How the simulated libcupti delivers records, and the faults it can simulate: test_cupti_faults
 * LIBCUPTI */
#include "tests/sim/cupti_client.h"

/* More records than a buffer can have: they come without a flush, as soon as they are complete. */
static void full_buffers(void)
{
    begin(work_kinds);
    start_cuda();
    for (int i = 0; i < 2000; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    for (int i = 0; i < 1000 && seen_count < 1500; i++)
        usleep(2000);
    EXPECT(seen_count >= 1500);
    flush(0);
    EXPECT(count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2000 && seen_count == 2000);
}

static void forced_flush(void)
{
    begin(work_kinds);
    start_cuda();
    launch_spin(200 * MS, NULL);
    flush(0);
    EXPECT(!seen_count);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const struct seen *s = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    EXPECT(s && !s->kernel.start && !s->kernel.end);
}

static void dropped_records(void)
{
    size_t dropped = 0;
    setenv("GV_SIM_CUPTI_DROP", "10", 1);
    begin(work_kinds);
    start_cuda();
    for (int i = 0; i < 100; i++)
        launch_spin(0, NULL);
    CHECK(cuCtxSynchronize());
    flush(0);
    EXPECT(seen_count == 90);
    EXPECT_RESULT(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    EXPECT(dropped == 10);
    EXPECT_RESULT(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    EXPECT(dropped == 0);
}

static void late_records(void)
{
    setenv("GV_SIM_CUPTI_LATE_MS", "60000", 1);
    begin(work_kinds);
    start_cuda();
    launch_spin(0, NULL);
    CHECK(cuCtxSynchronize());
    flush(0);
    EXPECT(!seen_count);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    EXPECT(seen_count == 1 && seen[0].kernel.start && seen[0].kernel.end);
}

static void failures(void)
{
    CUpti_SubscriberHandle subscriber;
    setenv("GV_SIM_CUPTI_FAIL", "cuptiActivityEnable:2=15,cuptiActivityDisable=999", 1);
    load_library();
    EXPECT_RESULT(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    EXPECT_RESULT(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY),
                  CUPTI_ERROR_NOT_INITIALIZED);
    EXPECT_RESULT(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    for (int i = 0; i < 2; i++)
        EXPECT_RESULT(cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_UNKNOWN);
    EXPECT_RESULT(cupti.cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
    subscriber = subscribe();
    EXPECT_RESULT(cupti.cuptiSubscribe(&subscriber, called, &cupti),
                  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_RESULT(cupti.cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
    subscribe();
}

static void other_subscriber(void)
{
    CUpti_SubscriberHandle subscriber;
    char name[64] = "";
    CUpti_SubscriberParams parameters = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                         .subscriberName = "test",
                                         .oldSubscriberName = name,
                                         .oldSubscriberSize = sizeof name};
    setenv("GV_SIM_CUPTI_OWNER", "CUPTI for another", 1);
    load_library();
    EXPECT_RESULT(cupti.cuptiSubscribe(&subscriber, called, &cupti),
                  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    if (!cupti.cuptiSubscribe_v2)
        return;
    EXPECT_RESULT(cupti.cuptiSubscribe_v2(&subscriber, called, &cupti, &parameters),
                  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT(!strcmp(name, "CUPTI for another"));
}

static _Atomic bool came_back;

static void *flush_for_ever(void *unused)
{
    cupti.cuptiActivityFlushAll(0);
    came_back = true;
    return unused;
}

static void hanging_flush(void)
{
    pthread_t thread;
    setenv("GV_SIM_CUPTI_HANG", "cuptiActivityFlushAll", 1);
    begin(work_kinds);
    EXPECT(!pthread_create(&thread, NULL, flush_for_ever, NULL));
    usleep(100000);
    EXPECT(!came_back);
}

static CUcontext shared;
static _Atomic bool began;

static void *load_behind(void *unused)
{
    CUmodule more;

    CHECK(cuCtxSetCurrent(shared));
    began = true;
    CHECK(cuModuleLoadData(&more, gv_ptx_second));
    return unused;
}

static void *synchronise_behind(void *unused)
{
    CHECK(cuCtxSetCurrent(shared));
    began = true;
    CHECK(cuCtxSynchronize());
    return unused;
}

/* The duration of a flush in ms, 50 ms after another thread has begun to wait for a kernel of
 * 400 ms. */
static double flush_beside(void *(*wait)(void *))
{
    pthread_t thread;

    CHECK(cuCtxGetCurrent(&shared));
    began = false;
    launch_spin(400 * MS, NULL);
    EXPECT(!pthread_create(&thread, NULL, wait, NULL));
    while (!began)
        usleep(1000);
    usleep(50000);
    uint64_t start_ns = client_clock();
    flush(0);
    double ms = (double)(client_clock() - start_ns) / 1e6;
    EXPECT(!pthread_join(thread, NULL));
    return ms;
}

static void flush_beside_waits(void)
{
    begin(work_kinds);
    start_cuda();
    double behind_load = flush_beside(load_behind);
    double beside_synchronisation = flush_beside(synchronise_behind);
    EXPECT(behind_load > 2 * beside_synchronisation);
}

static void forked_child(void)
{
    int status;
    begin(work_kinds);
    start_cuda();
    pid_t child = fork();
    if (!child) {
        fclose(stderr);
        cupti.cuptiActivityFlushAll(0);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        SCENARIO(full_buffers),  SCENARIO(forced_flush), SCENARIO(dropped_records),
        SCENARIO(late_records),  SCENARIO(failures),     SCENARIO(other_subscriber),
        SCENARIO(hanging_flush), SCENARIO(forked_child), SCENARIO(flush_beside_waits),
    };
    return run_scenarios(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
