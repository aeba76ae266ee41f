/* Checks the simulated driver: look-ups, captures, images, callbacks, default streams. The
 * expected look-ups and captures are those of a driver 580 on an H100. */
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/clock.h"
#include "kernels/ptx.h"
#include "tests/sim/expect.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static CUcontext context;
static CUfunction empty, spin;

static void test_look_ups(void)
{
    static const struct {
        const char *name;
        int version, flags;
        const char *found;
        int status;
    } questions[] = {
        {"", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
        {"cuNoSuchCall", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
        {"cuMemAlloc_v2", 13000, 0, NULL, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND},
        {"cuMemAlloc", 1000, 0, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
        {"cuMemAlloc", 2000, 0, "cuMemAlloc", 0},
        {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2", 0},
        {"cuCtxCreate", 13000, 0, "cuCtxCreate_v4", 0},
        {"cuGetProcAddress", 11030, 0, "cuGetProcAddress", 0},
        {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2", 0},
        {"cuStreamQuery", 13000, 0, "cuStreamQuery", 0},
        {"cuStreamQuery", 13000, 1, "cuStreamQuery", 0},
        {"cuStreamQuery", 13000, 2, "cuStreamQuery_ptsz", 0},
        {"cuStreamQuery", 6000, 2, NULL, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT},
        {"cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds", 0},
        {"cuInit", 13000, 2, "cuInit", 0},
    };
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        CUdriverProcAddressQueryResult status;
        void *found = &status, *old = &status;
        Dl_info info = {0};
        EXPECT_RESULT(cuGetProcAddress_v2(questions[i].name, &found, questions[i].version,
                                          (cuuint64_t)questions[i].flags, &status),
                      CUDA_SUCCESS);
        EXPECT_RESULT(status, questions[i].status);
        if (!questions[i].found) {
            EXPECT(!found);
            EXPECT_RESULT(cuGetProcAddress(questions[i].name, &old, questions[i].version,
                                           (cuuint64_t)questions[i].flags),
                          CUDA_ERROR_NOT_FOUND);
            EXPECT(old == &status);
        } else if (found && dladdr(found, &info) && info.dli_sname) {
            EXPECT(!strcmp(info.dli_sname, questions[i].found));
            EXPECT(found == info.dli_saddr);
        } else {
            EXPECT(found && info.dli_sname); /* an export, with a name */
        }
    }
}

static CUresult try_capture(CUstream stream, CUstreamCaptureMode mode, CUresult (*call)(void),
                            CUresult *end)
{
    CUgraph graph = NULL;
    CHECK(cuStreamBeginCapture_v2(stream, mode));
    CUresult result = call();
    *end = cuStreamEndCapture(stream, &graph);
    if (graph)
        CHECK(cuGraphDestroy(graph));
    return result;
}

static CUstream other;
static CUevent event;

static CUresult query_other(void)
{
    return cuStreamQuery(other);
}

static CUresult query_legacy(void)
{
    return cuStreamQuery(NULL);
}

static CUresult query_relaxed(void)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    CUresult result = cuStreamQuery(other);
    CHECK(cuThreadExchangeStreamCaptureMode(&mode));
    return result;
}

static CUresult query_event(void)
{
    return cuEventQuery(event);
}

static CUresult allocate(void)
{
    CUdeviceptr made;
    return cuMemAlloc_v2(&made, 64);
}

static CUmodule loaded;

static CUresult load(void)
{
    return cuModuleLoadData(&loaded, gv_ptx_second);
}

static CUresult unload(void)
{
    return cuModuleUnload(loaded);
}

static CUresult wait_for_all(void)
{
    return cuCtxSynchronize();
}

static CUresult launch_legacy(void)
{
    return cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void test_captures(void)
{
    CUstream free_stream, blocking;
    CUresult end;
    const CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL,
                              local = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                              relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    CHECK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuEventCreate(&event, 0));
    EXPECT_RESULT(try_capture(free_stream, global, query_other, &end), 900);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(free_stream, local, query_other, &end), 900);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(free_stream, relaxed, query_other, &end), 0);
    EXPECT_RESULT(end, 0);
    EXPECT_RESULT(try_capture(free_stream, global, query_relaxed, &end), 0);
    EXPECT_RESULT(end, 0);
    EXPECT_RESULT(try_capture(free_stream, global, query_event, &end), 900);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(free_stream, global, allocate, &end), 900);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(free_stream, global, load, &end), 0);
    EXPECT_RESULT(end, 0);
    EXPECT_RESULT(try_capture(free_stream, local, unload, &end), 900);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(free_stream, relaxed, unload, &end), 0);
    EXPECT_RESULT(end, 0);
    EXPECT_RESULT(try_capture(free_stream, relaxed, wait_for_all, &end), 900);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(free_stream, global, launch_legacy, &end), 0);
    EXPECT_RESULT(end, 0);
    EXPECT_RESULT(try_capture(blocking, relaxed, launch_legacy, &end), 906);
    EXPECT_RESULT(end, 901);
    EXPECT_RESULT(try_capture(blocking, relaxed, query_legacy, &end), 906);
    EXPECT_RESULT(end, 901);
    CHECK(cuCtxSynchronize());
    EXPECT_RESULT(try_capture(free_stream, relaxed, query_legacy, &end), 0);
    EXPECT_RESULT(end, 0);
    EXPECT_RESULT(query_other(), 0);
}

/* Two streams in one capture, side by side: the graph takes as long as the longer one. */
static void test_graph_time(void)
{
    CUstream first, second;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
    uint64_t ns = 20000000;
    void *parameters[] = {&ns};
    size_t nodes = 0;
    CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&fork, 0));
    CHECK(cuEventCreate(&join, 0));
    CHECK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuEventRecord(fork, first));
    CHECK(cuStreamWaitEvent(second, fork, 0));
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL));
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, second, parameters, NULL));
    EXPECT_RESULT(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
    CHECK(cuEventRecord(join, second));
    CHECK(cuStreamWaitEvent(first, join, 0));
    CHECK(cuStreamEndCapture(first, &graph));
    CHECK(cuGraphGetNodes(graph, NULL, &nodes));
    EXPECT(nodes == 2);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    uint64_t start_ns = gv_clock_ns();
    CHECK(cuGraphLaunch(exec, first));
    CHECK(cuStreamSynchronize(first));
    double ms = gv_clock_ms_since(start_ns);
    EXPECT(ms > 19 && ms < 39);
}

static int order;

static void CUDA_CB note_host(void *data)
{
    *(int *)data = ++order;
}

static void test_host_functions(void)
{
    static int first, second;
    uint64_t ns = 10000000;
    void *parameters[] = {&ns};
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, other, parameters, NULL));
    CHECK(cuLaunchHostFunc(other, note_host, &first));
    CHECK(cuLaunchHostFunc(other, note_host, &second));
    EXPECT(!first);
    EXPECT_RESULT(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    CHECK(cuStreamSynchronize(other));
    EXPECT(first == 1 && second == 2);
}

static void test_default_streams(void)
{
    CUstream blocking, free_stream;
    uint64_t ns = 30000000;
    void *parameters[] = {&ns};
    CHECK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, blocking, NULL, NULL));
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, free_stream, NULL, NULL));
    CHECK(cuStreamSynchronize(free_stream));
    EXPECT_RESULT(cuStreamQuery(free_stream), CUDA_SUCCESS);
    EXPECT_RESULT(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    EXPECT_RESULT(cuStreamQuery_ptsz(NULL), CUDA_SUCCESS);
    CHECK(cuCtxSynchronize());
}

static void test_images(void)
{
    static const char cut[] = GV_PTX_HEAD ".visible .entry k()\n{ ret;\n";
    static const char local[] = "// a comment .entry no()\n" GV_PTX_HEAD "/* .entry nor_this() */\n"
                                ".visible .global .align 4 .f32 table[4][8] = {1, 2};\n"
                                ".func helper()\n{ .local .b8 l[9000]; ret; }\n"
                                ".entry spin_long()\n{ .local .align 8 .b8 depot[4096]; ret; }\n";
    static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    static const char text[] = "this is no code at all";
    static const unsigned int fatbin[6] = {0xBA55ED50u, 1u << 16 | 16u, 0xffffff00u, 0};
    CUmodule module;
    CUfunction function;
    CUdeviceptr address;
    size_t bytes;
    const char *name;
    int value;
    EXPECT_RESULT(cuModuleLoadData(&module, cut), CUDA_ERROR_INVALID_PTX);
    EXPECT_RESULT(cuModuleLoadData(&module, text), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoadData(&module, elf), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoadData(&module, fatbin), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_RESULT(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(cuModuleLoadData(&module, local));
    EXPECT_RESULT(cuModuleGetFunction(&function, module, "no"), CUDA_ERROR_NOT_FOUND);
    EXPECT_RESULT(cuModuleGetFunction(&function, module, "nor_this"), CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleGetFunction(&function, module, "spin_long"));
    CHECK(cuFuncGetName(&name, function));
    EXPECT(!strcmp(name, "spin_long"));
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function));
    EXPECT(value == 4096);
    CHECK(cuModuleGetGlobal_v2(&address, &bytes, module, "table"));
    EXPECT(bytes == 128);
    CHECK(cuModuleUnload(module));
    EXPECT_RESULT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                  CUDA_ERROR_INVALID_HANDLE);
}

static void test_fork(void)
{
    pid_t child = fork();
    if (!child) {
        int version;
        gv_failures = 0;
        EXPECT_RESULT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_RESULT(cuDriverGetVersion(&version), CUDA_SUCCESS);
        fflush(stdout);
        _exit(gv_expect_failed());
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void test_not_simulated(void)
{
    CUtexref reference;
    EXPECT_RESULT(cuTexRefCreate(&reference), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    CUdevice device;
    CUmodule module;
    test_look_ups();
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(0));
    EXPECT_RESULT(cuStreamQuery(NULL), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    test_captures();
    test_graph_time();
    test_host_functions();
    test_default_streams();
    test_images();
    test_not_simulated();
    test_fork();
    return gv_expect_failed();
}
