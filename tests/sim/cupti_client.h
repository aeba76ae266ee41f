/*
 * A client of libcupti for the tests of the simulated one. It stores the records, has its own
 * clock, and runs scenarios. Include it in one file of a program.
 */
#ifndef GV_TESTS_SIM_CUPTI_CLIENT_H
#define GV_TESTS_SIM_CUPTI_CLIENT_H

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
    X(cuptiGetGraphNodeId)                                                                         \
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

/* The records received, in the part that every version has. */
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
static uint64_t nodes_made[SEEN_MAX], originals[SEEN_MAX]; /* 0: it is no clone */
static _Atomic int node_count;

static CUcontext context;
static CUmodule module;
static CUfunction spin, empty;

static inline uint64_t CUPTIAPI client_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + CLOCK_OFFSET;
}

static inline void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *records = 0;
    buffers_out++;
}

static inline void CUPTIAPI take(CUcontext none, uint32_t stream, uint8_t *buffer, size_t size,
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

static inline void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
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
    } else if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
               cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        const CUpti_GraphData *graph = ((const CUpti_ResourceData *)data)->resourceDescriptor;
        int i = node_count++;
        EXPECT_RESULT(cupti.cuptiGetGraphNodeId(graph->node, &nodes_made[i]), CUPTI_SUCCESS);
        if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
            EXPECT_RESULT(cupti.cuptiGetGraphNodeId(graph->originalNode, &originals[i]),
                          CUPTI_SUCCESS);
    }
}

static inline const struct seen *find(CUpti_ActivityKind kind, int nth)
{
    for (int i = 0; i < seen_count && i < SEEN_MAX; i++)
        if (seen[i].kind == kind && !nth--)
            return &seen[i];
    return NULL;
}

static inline int count(CUpti_ActivityKind kind)
{
    int found = 0;
    for (int i = 0; i < seen_count && i < SEEN_MAX; i++)
        found += seen[i].kind == kind;
    return found;
}

static inline void flush(uint32_t flag)
{
    EXPECT_RESULT(cupti.cuptiActivityFlushAll(flag), CUPTI_SUCCESS);
}

static inline void load_library(void)
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

static inline CUpti_SubscriberHandle subscribe(void)
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

static inline void begin(const CUpti_ActivityKind *kinds)
{
    load_library();
    EXPECT_RESULT(cupti.cuptiActivityRegisterCallbacks(give, take), CUPTI_SUCCESS);
    EXPECT_RESULT(cupti.cuptiActivityRegisterTimestampCallback(client_clock), CUPTI_SUCCESS);
    for (; *kinds; kinds++)
        EXPECT_RESULT(cupti.cuptiActivityEnable(*kinds), CUPTI_SUCCESS);
}

static inline void start_cuda(void)
{
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
}

static inline void launch_spin(uint64_t ns, CUstream stream)
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

/* Each in its own process, because the library reads its settings when it is loaded. */
struct scenario {
    const char *name;
    void (*run)(void);
};
#define SCENARIO(function)                                                                         \
    {                                                                                              \
#function, function                                                                        \
    }

static inline int run_scenarios(const struct scenario *scenarios, size_t scenario_count, int argc,
                                char **argv)
{
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBCUPTI\n", argv[0]);
        return 2;
    }
    library_path = argv[1];
    for (size_t i = 0; i < scenario_count; i++) {
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

#endif
