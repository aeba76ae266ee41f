/*
 * The simulated libcupti, as a client sees it: test_cupti LIBCUPTI. Each scenario runs in a process
 * of its own, since the library reads its settings when it is loaded.
 */
#include <cupti.h>

#include "kernels/check.h"
#include "kernels/ptx.h"
#include "tests/sim/expect.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_OFFSET 5000000000000u /* the client's clock is not the simulator's */
#define MS           1000000u
#define BUFFER_BYTES 65536u
#define SEEN_MAX     4096

static const char *library_path;

#define CLIENT_CALLS(X)                                                                            \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityEnableDriverApi)                                                                \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiActivityPopExternalCorrelationId)                                                       \
    X(cuptiActivityPushExternalCorrelationId)                                                      \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiEnableCallback)                                                                         \
    X(cuptiGetCallbackName)                                                                        \
    X(cuptiGetVersion)                                                                             \
    X(cuptiSubscribe)                                                                              \
    X(cuptiUnsubscribe)
static struct {
#define X(name) __typeof__(name) *name;
    CLIENT_CALLS(X)
#undef X
    __typeof__(cuptiSubscribe_v2) *cuptiSubscribe_v2; /* from 13 on */
} cupti;
static uint32_t version;

/* The records that came, copied as far as every version has them. */
static struct seen {
    CUpti_ActivityKind kind;
    union {
        CUpti_ActivityKernel8 kernel;
        CUpti_ActivityMemcpy5 copy;
        CUpti_ActivityMemcpyPtoP4 peer;
        CUpti_ActivityMemset4 set;
        CUpti_ActivityGraphTrace graph;
        CUpti_ActivityAPI call;
        CUpti_ActivityExternalCorrelation external;
        CUpti_ActivityJit jit;
        CUpti_ActivityOverhead overhead;
        CUpti_ActivitySynchronization wait;
    };
} seen[SEEN_MAX];
static _Atomic int seen_count;
static _Atomic int buffers_out;
static _Atomic uint32_t last_correlation, modules_loaded, contexts_made;
static _Atomic size_t cubin_bytes;

static CUcontext context;
static CUmodule module;
static CUfunction spin, empty;

static uint64_t CUPTIAPI client_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + CLOCK_OFFSET;
}

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *records = 0;
    buffers_out++;
}

static void CUPTIAPI take(CUcontext none, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t valid)
{
    CUpti_Activity *record = NULL;
    EXPECT(!none && !stream && size == BUFFER_BYTES && valid <= size);
    while (cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        int i = seen_count++;
        if (i >= SEEN_MAX)
            break;
        size_t left = (size_t)(buffer + valid - (uint8_t *)record);
        size_t most = sizeof seen[i] - offsetof(struct seen, kernel);
        seen[i].kind = record->kind;
        memcpy(&seen[i].kernel, record, left < most ? left : most);
    }
    free(buffer);
    buffers_out--;
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                            const void *data)
{
    const CUpti_CallbackData *call = data;
    EXPECT(user == &cupti);
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        if (call->callbackSite == CUPTI_API_ENTER) {
            last_correlation = call->correlationId;
            *call->correlationData = call->correlationId;
            return;
        }
        EXPECT(*call->correlationData == last_correlation);
        EXPECT(!strcmp(call->functionName, "cuLaunchKernel") && call->contextUid);
        EXPECT(*(CUresult *)call->functionReturnValue == CUDA_SUCCESS);
    } else if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        const CUpti_ResourceData *resource = data;
        const CUpti_ModuleResourceData *loaded = resource->resourceDescriptor;
        modules_loaded++;
        cubin_bytes = loaded->pCubin && loaded->moduleId ? loaded->cubinSize : 0;
    } else if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
        contexts_made++;
    }
}

static const struct seen *find(CUpti_ActivityKind kind, int nth)
{
    for (int i = 0; i < seen_count && i < SEEN_MAX; i++)
        if (seen[i].kind == kind && !nth--)
            return &seen[i];
    return NULL;
}

static int count(CUpti_ActivityKind kind)
{
    int found = 0;
    for (int i = 0; i < seen_count && i < SEEN_MAX; i++)
        found += seen[i].kind == kind;
    return found;
}

static void flush(uint32_t flag)
{
    EXPECT_RESULT(cupti.cuptiActivityFlushAll(flag), CUPTI_SUCCESS);
}

static void load_library(void)
{
    void *library = dlopen(library_path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define X(name)                                                                                    \
    cupti.name = (__typeof__(name) *)dlsym(library, #name);                                        \
    EXPECT(cupti.name != NULL);
    CLIENT_CALLS(X)
#undef X
    cupti.cuptiSubscribe_v2 = (__typeof__(cuptiSubscribe_v2) *)dlsym(library, "cuptiSubscribe_v2");
    EXPECT_RESULT(cupti.cuptiGetVersion(&version), CUPTI_SUCCESS);
    EXPECT((version >= 130000) == (cupti.cuptiSubscribe_v2 != NULL));
}

static CUpti_SubscriberHandle subscribe(void)
{
    CUpti_SubscriberHandle subscriber = NULL;
    EXPECT_RESULT(cupti.cuptiSubscribe(&subscriber, called, &cupti), CUPTI_SUCCESS);
    EXPECT_RESULT(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                            CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
                  CUPTI_SUCCESS);
    for (CUpti_CallbackId id = 1; id < CUPTI_CBID_RESOURCE_SIZE; id++)
        EXPECT_RESULT(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id),
                      CUPTI_SUCCESS);
    return subscriber;
}

static void begin(const CUpti_ActivityKind *kinds)
{
    load_library();
    EXPECT_RESULT(cupti.cuptiActivityRegisterCallbacks(give, take), CUPTI_SUCCESS);
    EXPECT_RESULT(cupti.cuptiActivityRegisterTimestampCallback(client_clock), CUPTI_SUCCESS);
    for (; *kinds; kinds++)
        EXPECT_RESULT(cupti.cuptiActivityEnable(*kinds), CUPTI_SUCCESS);
}

static void start_cuda(void)
{
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
}

static void launch_spin(uint64_t ns, CUstream stream)
{
    void *parameters[] = {&ns};
    CHECK(cuLaunchKernel(spin, 3, 2, 1, 64, 1, 1, 48, stream, parameters, NULL));
}

static const CUpti_ActivityKind work_kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                CUPTI_ACTIVITY_KIND_MEMCPY,
                                                CUPTI_ACTIVITY_KIND_MEMSET,
                                                CUPTI_ACTIVITY_KIND_MEMCPY2,
                                                CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                                CUPTI_ACTIVITY_KIND_INVALID};

static void check_kernel(uint64_t before, uint32_t correlation)
{
    const struct seen *s = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    EXPECT(s != NULL);
    if (!s)
        return;
    EXPECT(s->kernel.start >= before && s->kernel.end - s->kernel.start == 5 * MS);
    EXPECT(s->kernel.end <= client_clock());
    EXPECT(s->kernel.correlationId == correlation);
    EXPECT(!strcmp(s->kernel.name, "spin"));
    EXPECT(s->kernel.gridX == 3 && s->kernel.gridY == 2 && s->kernel.blockX == 64);
    EXPECT(s->kernel.dynamicSharedMemory == 48 && s->kernel.registersPerThread == 16);
    EXPECT(s->kernel.deviceId == 0 && s->kernel.contextId && s->kernel.streamId == 1);
    EXPECT(s->kernel.graphNodeId == 0);
}

static void kernels_copies_and_sets(void)
{
    static char host[4096];
    CUdeviceptr device;
    begin(work_kinds);
    subscribe();
    start_cuda();
    EXPECT(contexts_made == 1 && modules_loaded == 1 && cubin_bytes == strlen(gv_ptx_tour));
    CHECK(cuMemAlloc(&device, sizeof host));
    uint64_t before = client_clock();
    launch_spin(5 * MS, NULL);
    uint32_t correlation = last_correlation;
    flush(0);
    EXPECT(!seen_count); /* it still runs */
    CHECK(cuMemcpyHtoD(device, host, sizeof host));
    uint64_t after = client_clock();
    CHECK(cuMemsetD32Async(device, 7, 256, NULL));
    CHECK(cuMemcpyPeer(device, context, device + 2048, context, 1024));
    CHECK(cuCtxSynchronize());
    flush(0);
    check_kernel(before, correlation);
    const struct seen *copy = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    const struct seen *set = find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    const struct seen *peer = find(CUPTI_ACTIVITY_KIND_MEMCPY2, 0);
    EXPECT(copy && set && peer && seen_count == 4);
    if (!copy || !set || !peer)
        return;
    EXPECT(copy->copy.bytes == sizeof host && copy->copy.correlationId > correlation);
    EXPECT(copy->copy.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT(copy->copy.start >= before + 5 * MS && copy->copy.end <= after);
    EXPECT(set->set.bytes == 1024 && set->set.value == 7 && set->set.flags == 1);
    EXPECT(peer->peer.bytes == 1024 && peer->peer.srcContextId == peer->peer.dstContextId);
    EXPECT(peer->peer.correlationId > set->set.correlationId);
    EXPECT(!buffers_out);
}

static CUgraphExec make_graph(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_spin(2 * MS, stream);
    launch_spin(1 * MS, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void graphs(void)
{
    CUstream stream;
    begin(work_kinds);
    start_cuda();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUgraphExec exec = make_graph(stream);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    flush(0);
    const struct seen *whole = find(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
    EXPECT(whole && seen_count == 1);
    if (whole)
        EXPECT(whole->graph.end - whole->graph.start >= 3 * MS && whole->graph.graphId &&
               whole->graph.correlationId);
    EXPECT_RESULT(cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), CUPTI_SUCCESS);
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    flush(0);
    const struct seen *first = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const struct seen *second = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
    EXPECT(first && second && seen_count == 3);
    if (!first || !second)
        return;
    EXPECT(first->kernel.end - first->kernel.start == 2 * MS);
    EXPECT(second->kernel.start >= first->kernel.end);
    EXPECT(first->kernel.graphNodeId && first->kernel.graphNodeId != second->kernel.graphNodeId);
    EXPECT(first->kernel.correlationId == second->kernel.correlationId);
}

/* A lazy load behind a kernel: CUPTI says how long the loading took, and nothing of the wait. */
static void code(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    CUlibrary library;
    CUkernel kernel;
    setenv("GV_SIM_JIT_NS", "3000000", 1);
    begin(kinds);
    CUptiResult jit = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_JIT);
    EXPECT(version == 18 ? jit == CUPTI_ERROR_INVALID_KIND : jit == CUPTI_SUCCESS);
    EXPECT_RESULT(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MODULE), CUPTI_ERROR_INVALID_KIND);
    start_cuda();
    CHECK(cuLibraryLoadData(&library, gv_ptx_tour, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "empty"));
    launch_spin(20 * MS, NULL);
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    flush(0);
    const struct seen *lazy = find(CUPTI_ACTIVITY_KIND_OVERHEAD, 0);
    const struct seen *wait = find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0);
    EXPECT(lazy && wait && count(CUPTI_ACTIVITY_KIND_OVERHEAD) == 1);
    if (lazy)
        EXPECT((int)lazy->overhead.overheadKind == 5 << 16 &&
               lazy->overhead.end - lazy->overhead.start < 10 * MS);
    if (wait)
        EXPECT(wait->wait.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
    const struct seen *compiled = find(CUPTI_ACTIVITY_KIND_JIT, 0);
    const struct seen *cached = find(CUPTI_ACTIVITY_KIND_JIT, 1);
    EXPECT((compiled && cached) == (version != 18));
    if (!compiled || !cached)
        return;
    EXPECT(compiled->jit.jitOperationType == CUPTI_ACTIVITY_JIT_OPERATION_COMPILE);
    EXPECT(compiled->jit.end - compiled->jit.start >= 3 * MS && compiled->jit.correlationId);
    EXPECT(cached->jit.jitOperationType == CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD);
}

static void calls_and_external_ids(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                               CUPTI_ACTIVITY_KIND_INVALID};
    const CUpti_ExternalCorrelationKind own = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    const char *name;
    uint64_t id = 0;
    begin(kinds);
    EXPECT_RESULT(cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API,
                                             CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, &name),
                  CUPTI_SUCCESS);
    EXPECT(!strcmp(name, "cuMemcpyHtoD_v2"));
    EXPECT_RESULT(cupti.cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                  CUPTI_SUCCESS);
    start_cuda();
    EXPECT_RESULT(cupti.cuptiActivityPushExternalCorrelationId(own, 4711), CUPTI_SUCCESS);
    launch_spin(0, NULL);
    EXPECT_RESULT(cupti.cuptiActivityPopExternalCorrelationId(own, &id), CUPTI_SUCCESS);
    EXPECT(id == 4711);
    EXPECT_RESULT(cupti.cuptiActivityPopExternalCorrelationId(own, &id), CUPTI_ERROR_QUEUE_EMPTY);
    launch_spin(0, NULL);
    CHECK(cuCtxSynchronize());
    flush(0);
    const struct seen *call = find(CUPTI_ACTIVITY_KIND_DRIVER, 0);
    const struct seen *kernel = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const struct seen *external = find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0);
    EXPECT(call && kernel && external && seen_count == 5);
    if (!call || !kernel || !external)
        return;
    EXPECT(call->call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel && !call->call.returnValue);
    EXPECT(call->call.correlationId == kernel->kernel.correlationId);
    EXPECT(external->external.correlationId == kernel->kernel.correlationId);
    EXPECT(external->external.externalId == 4711 && call->call.start <= kernel->kernel.start);
}

/* More records than a buffer holds: they come without a flush, as soon as they are complete. */
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

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
#define S(name)                                                                                    \
    {                                                                                              \
#name, name                                                                                \
    }
    S(kernels_copies_and_sets), S(graphs),        S(code),
    S(calls_and_external_ids),  S(full_buffers),  S(forced_flush),
    S(dropped_records),         S(late_records),  S(failures),
    S(other_subscriber),        S(hanging_flush), S(forked_child),
#undef S
};

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBCUPTI\n", argv[0]);
        return 2;
    }
    library_path = argv[1];
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (!child) {
            alarm(30);
            scenarios[i].run();
            fflush(NULL);
            _exit(gv_expect_failed());
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            printf("%s failed\n", scenarios[i].name);
            failed++;
        }
    }
    return failed != 0;
}
