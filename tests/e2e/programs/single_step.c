/*
 * A signal handler calls CUDA at every instruction of libgpuverify.so, one after the other.
 *
 *     single_step copy|runtime|high|left|poll|launch|pair|load|deep|stop|start|jump FILL...
 *
 * One call ("outer") is repeated. First it is single-stepped with the CPU's trap flag, to learn its
 * path in the library; what that calls elsewhere runs at full speed. Then each instruction of the
 * path gets a breakpoint, whose handler makes a call of its own ("inner"). Before each, other calls
 * fill the thread's segment to FILL records (253, 254, 255: the outer call's record is the last but
 * one, the last, or in the next segment; 0: as it comes; 256: until the spool is full).
 *
 * The program looks at the spool as the library maps it, and prints a line for each outer call:
 *
 *     outer ID of MODE fill FILL step K of N driver FIRST inner ID lost N
 *
 * runtime is copy through libcudart, whose driver call is stepped too. high is copy with a handler
 * whose stack is above the thread's, where callers' frames usually are. left is copy after a call
 * that a jump left. pair is the first launch of a kernel, which is always chosen for a sample. stop
 * and start are runtime, and the handler stops or starts recording. jump is copy, and the handler
 * jumps out of the call. inner IDs (0: not called), and
 * outer ones of the modes copy, high and left, are the bytes of cuMemsetD8Async(), odd and even.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"
#include "nvtx/gpuverify.h"
#include "trace/spool.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
int main(void)
{
    printf("needs the trap flag of x86-64\n");
    return 77;
}
#else

#define BUFFER_BYTES (8u << 20)
#define PATH_MOST    65536
#define FULL         256
#define STACK_BYTES  (1u << 20)
#define FILLER_BYTES (1u << 16)
#define TRAP_FLAG    0x100
#define INT3         0xcc

static struct {
    uintptr_t low, high;
} library, program;

static struct gv_spool_header *spool;
static char stacks[2][STACK_BYTES] __attribute__((aligned(4096)));
static CUcontext context;
static CUdeviceptr buffer;
static CUstream stream, busy, inner_stream;
static CUevent event;
static CUfunction empty;
static unsigned made[2], fillers; /* inner calls, outer calls; events recorded */

/* ---- stepping ---- */

static uintptr_t path[PATH_MOST]; /* executed instructions in the library */
static unsigned steps, first_outside;
static bool learning;
static unsigned inner_id;
static pid_t stepped_thread;

/* Replaces an instruction's first byte. */
static unsigned char *volatile breakpoint;
static unsigned char replaced;
static unsigned hits_to_go; /* instructions until the handler calls; 0: the breakpoint is where
                               `learning` continues */

static void set_breakpoint(uintptr_t at, unsigned hits)
{
    hits_to_go = hits;
    replaced = *(unsigned char *)at;
    breakpoint = (unsigned char *)at;
    *breakpoint = INT3;
}

static void clear_breakpoint(void)
{
    if (breakpoint)
        *breakpoint = replaced;
    breakpoint = NULL;
}

static enum { CALLS, STOPS, STARTS, JUMPS } handler;
static sigjmp_buf outside;

static void call_inner(void)
{
    if (handler == STOPS) {
        gv_stop();
        return;
    }
    if (handler == STARTS) {
        gv_start();
        return;
    }
    if (handler == JUMPS)
        siglongjmp(outside, 1);
    inner_id = 2 * made[0]++ + 1;
    CHECK(cuMemsetD8Async(buffer, 0, inner_id, inner_stream));
}

/* Before the instruction `at`. */
static void learn(greg_t *registers, uintptr_t at)
{
    uintptr_t caller;

    if (at >= program.low && at < program.high)
        return;
    if (at >= library.low && at < library.high) {
        if (steps == PATH_MOST) {
            printf("the path has more than %u instructions\n", PATH_MOST);
            exit(1);
        }
        path[steps++] = at;
        return;
    }
    /* At the first instruction of a function. */
    caller = *(uintptr_t *)registers[REG_RSP];
    if (caller >= library.low && caller < library.high) {
        set_breakpoint(caller, 0);
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    }
    if (!first_outside)
        first_outside = steps;
}

static void on_trap(int number, siginfo_t *info, void *interrupted)
{
    greg_t *registers = ((ucontext_t *)interrupted)->uc_mcontext.gregs;
    static unsigned char *stepped_over;
    uintptr_t at = (uintptr_t)registers[REG_RIP];

    (void)number;
    (void)info;
    if (syscall(SYS_gettid) != stepped_thread) { /* it was our breakpoint */
        while (breakpoint)
            sched_yield();
        registers[REG_RIP]--;
        return;
    }
    if (stepped_over) { /* the replaced instruction was executed */
        *stepped_over = INT3;
        stepped_over = NULL;
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    if (breakpoint && at == (uintptr_t)breakpoint + 1) {
        registers[REG_RIP] = (greg_t)--at;
        *breakpoint = replaced;
        if (hits_to_go > 1) {
            hits_to_go--;
            stepped_over = breakpoint;
            registers[REG_EFL] |= TRAP_FLAG;
            return;
        }
        breakpoint = NULL;
        if (hits_to_go) {
            call_inner();
            return;
        }
        registers[REG_EFL] |= TRAP_FLAG;
    }
    if (learning)
        learn(registers, at);
}

#define TRAP_OFF __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc")
#define TRAP_ON                                                                                    \
    if (learning)                                                                                  \
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc")

/* ---- the spool ---- */

static int find_objects(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    bool is_library = strstr(info->dlpi_name, "libgpuverify.so") != NULL;
    uintptr_t low = UINTPTR_MAX, high = 0;

    (void)bytes;
    (void)unused;
    if (!is_library && info->dlpi_name[0])
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        low = info->dlpi_addr + header->p_vaddr;
        high = low + header->p_memsz;
    }
    if (is_library) {
        library.low = low;
        library.high = high;
    } else if (!program.low) {
        program.low = low;
        program.high = high;
    }
    return 0;
}

static void make_library_writable(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = library.low & ~(page - 1);

    if (mprotect((void *)low, library.high - low, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        printf("the library's code cannot be written to\n");
        exit(77);
    }
}

static void find_spool(void)
{
    char line[4096];
    unsigned long low;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && !spool && fgets(line, sizeof(line), maps))
        if (strstr(line, GV_SPOOL_SUFFIX) && sscanf(line, "%lx", &low) == 1)
            spool = (struct gv_spool_header *)low;
    if (!spool || memcmp(spool->magic, GV_SPOOL_MAGIC, sizeof(spool->magic)) != 0) {
        fprintf(stderr, "no spool is mapped\n");
        exit(1);
    }
    fclose(maps);
}

static struct gv_spool_segment *segment(uint32_t index)
{
    return (struct gv_spool_segment *)(void *)((char *)spool + spool->segments_offset) + index;
}

static struct gv_spool_segment *own_segment(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);

    for (uint32_t i = 0; i < spool->segments_allocated; i++)
        if (segment(i)->state == GV_SEGMENT_OPEN && segment(i)->tid == tid)
            return segment(i);
    return NULL;
}

/* A store beyond a segment's end would first destroy the next one's header. */
static void check_segments(void)
{
    for (uint32_t i = 0; i < spool->segments_allocated; i++) {
        uint32_t published = segment(i)->published, state = segment(i)->state;

        if (state <= GV_SEGMENT_CLOSED && published <= GV_SPOOL_SEGMENT_RECORDS)
            continue;
        printf("segment %u is damaged: state %u, %u records published\n", i, state, published);
        exit(1);
    }
}

static unsigned long lost(void)
{
    unsigned long sum = spool->lost.names + spool->lost.loads;

    for (uint32_t i = 0; i < GV_SPOOL_CLASSES; i++)
        sum += spool->lost.calls[i];
    return sum;
}

static void fill_to(unsigned records)
{
    unsigned long before = lost();

    while (records == FULL && lost() == before) {
        CHECK(cuMemsetD8Async(buffer, 0, FILLER_BYTES, inner_stream));
        fillers++;
    }
    while (records && records < FULL && (!own_segment() || own_segment()->published != records)) {
        CHECK(cuEventRecord(event, inner_stream));
        fillers++;
    }
}

/* ---- what is stepped through ---- */

static char image[256];

static void make_image(unsigned id)
{
    snprintf(image, sizeof(image), GV_PTX_HEAD ".visible .entry step_%u()\n{\n    ret;\n}\n", id);
}

static unsigned outer_copy(void)
{
    unsigned id = 2 * ++made[1];

    TRAP_ON;
    CUresult result = cuMemsetD8Async(buffer, 0, id, stream);
    TRAP_OFF;
    CHECK(result);
    return id;
}

static int (*runtime_set)(void *to, int value, size_t bytes, void *stream);

/* Linked at run time, because the other modes have no runtime. */
static void open_runtime(void)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW);
    int (*set_device)(int device);

    *(void **)&set_device = runtime ? dlsym(runtime, "cudaSetDevice") : NULL;
    *(void **)&runtime_set = runtime ? dlsym(runtime, "cudaMemsetAsync") : NULL;
    if (!set_device || !runtime_set) {
        fprintf(stderr, "no libcudart.so.13\n");
        exit(1);
    }
    CHECK(set_device(0));
}

static unsigned outer_runtime(void)
{
    unsigned id = 2 * ++made[1];

    TRAP_ON;
    int result = runtime_set((void *)buffer, 0, id, stream);
    TRAP_OFF;
    CHECK(result);
    return id;
}

static unsigned outer_stop(void)
{
    return outer_runtime();
}

static unsigned outer_start(void)
{
    return outer_runtime();
}

static unsigned outer_high(void)
{
    return outer_copy();
}

static jmp_buf back;

static size_t CUDA_CB jump_back(int block_size)
{
    (void)block_size;
    longjmp(back, 1);
}

static unsigned outer_left(void)
{
    int grid, block;

    if (!setjmp(back))
        CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &block, empty, jump_back, 0, 0));
    return outer_copy();
}

static unsigned outer_jump(void)
{
    if (sigsetjmp(outside, 1))
        return 2 * made[1];
    return outer_copy();
}

static unsigned outer_poll(void)
{
    unsigned id = ++made[1];

    TRAP_ON;
    CUresult result = cuStreamQuery(busy);
    TRAP_OFF;
    CHECK(result == CUDA_ERROR_NOT_READY ? 0 : result);
    return id;
}

static unsigned outer_launch(void)
{
    unsigned id = ++made[1];

    TRAP_ON;
    CUresult result = cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    TRAP_OFF;
    CHECK(result);
    return id;
}

static CUfunction new_kernel;

/* Of a new kernel, and when there is time for its events. */
static void prepare_pair(void)
{
    char name[32];
    CUmodule module;

    make_image(made[1] + 1);
    snprintf(name, sizeof(name), "step_%u", made[1] + 1);
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&new_kernel, module, name));
    usleep(3000);
}

static unsigned outer_pair(void)
{
    unsigned id = ++made[1];

    TRAP_ON;
    CUresult result = cuLaunchKernel(new_kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
    TRAP_OFF;
    CHECK(result);
    return id;
}

/* A load, a name, and an unload. */
static unsigned outer_load(void)
{
    unsigned id = ++made[1];
    char name[32];
    CUfunction function;
    CUmodule module;

    make_image(id);
    snprintf(name, sizeof(name), "step_%u", id);
    TRAP_ON;
    CUresult loaded = cuModuleLoadData(&module, image);
    CUresult found = loaded ? loaded : cuModuleGetFunction(&function, module, name);
    CUresult unloaded = found ? found : cuModuleUnload(module);
    TRAP_OFF;
    CHECK(unloaded);
    return id;
}

/* A new stack each time: it is written, then attributed to this call. */
__attribute__((noinline)) static unsigned recurse(unsigned depth)
{
    unsigned id = depth ? recurse(depth - 1) : outer_copy();

    __asm__ volatile("" ::: "memory"); /* no tail call */
    return id;
}

static unsigned outer_deep(void)
{
    return recurse(made[1] % 40);
}

static const struct {
    const char *name;
    unsigned (*make)(void);
} modes[] = {{"copy", outer_copy},   {"runtime", outer_runtime}, {"high", outer_high},
             {"left", outer_left},   {"poll", outer_poll},       {"launch", outer_launch},
             {"load", outer_load},   {"deep", outer_deep},       {"stop", outer_stop},
             {"start", outer_start}, {"pair", outer_pair},       {"jump", outer_jump}};

/* `at`: index of the instruction in the path, from 1; 0: none. */
static void once(const char *name, unsigned (*outer)(void), unsigned fill, unsigned at)
{
    unsigned long before;
    unsigned id, hits = 0;

    if (handler == STOPS)
        gv_start();
    if (handler == STARTS)
        gv_stop();
    if (outer == outer_pair)
        prepare_pair();
    fill_to(fill);
    before = lost();
    inner_id = 0;
    for (unsigned i = 0; i < at; i++)
        hits += path[i] == path[at - 1];
    if (at)
        set_breakpoint(path[at - 1], hits);
    id = outer();
    clear_breakpoint();
    check_segments();
    printf("outer %u of %s fill %u step %u of %u driver %u inner %u lost %lu\n", id, name, fill, at,
           steps, first_outside, inner_id, lost() - before);
}

static void step_through(const char *name, unsigned (*outer)(void), unsigned fill)
{
    steps = first_outside = 0;
    learning = true;
    once(name, outer, fill, 0);
    learning = false;
    for (unsigned at = 1; at <= steps; at++)
        once(name, outer, fill, at);
}

static void run(char **argv, unsigned (*outer)(void))
{
    CHECK(cuCtxSetCurrent(context));
    stepped_thread = (pid_t)syscall(SYS_gettid);
    /* The first call looks its entry point up with signals blocked, where a trap would be
     * deadly. */
    call_inner();
    if (outer == outer_stop || outer == outer_start) {
        handler = outer == outer_stop ? STOPS : STARTS;
        gv_stop(); /* looks up the library's function once, with signals blocked */
        gv_start();
    }
    if (outer == outer_jump)
        handler = JUMPS;
    once(argv[1], outer, 0, 0);
    for (char **fill = argv + 2; *fill; fill++)
        step_through(argv[1], outer, (unsigned)strtoul(*fill, NULL, 10));
}

static void *run_high(void *argv)
{
    stack_t above = {.ss_sp = stacks[1], .ss_size = STACK_BYTES};

    CHECK(sigaltstack(&above, NULL));
    run(argv, outer_high);
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    unsigned (*outer)(void) = NULL;
    uint64_t long_ns = 3600ull * 1000000000u;
    void *parameters[] = {&long_ns};
    pthread_attr_t attributes;
    pthread_t thread;
    CUmodule module;
    CUfunction spin;
    CUdevice device;

    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            outer = modes[i].make;
    if (!outer)
        return 2;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&spin, module, "spin"));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&inner_stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemAlloc(&buffer, BUFFER_BYTES));
    if (outer == outer_runtime || outer == outer_stop || outer == outer_start)
        open_runtime();
    if (outer == outer_poll)
        CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, busy, parameters, NULL));
    dl_iterate_phdr(find_objects, NULL);
    make_library_writable();
    find_spool();
    sigaction(SIGTRAP, &action, NULL);
    if (outer == outer_high) {
        pthread_attr_init(&attributes);
        CHECK(pthread_attr_setstack(&attributes, stacks[0], STACK_BYTES));
        CHECK(pthread_create(&thread, &attributes, run_high, argv));
        CHECK(pthread_join(thread, NULL));
    } else {
        run(argv, outer);
    }
    printf("made %u inner, %u outer, %u fillers\n", made[0], made[1], fillers);
    fflush(stdout);
    _exit(0); /* does not wait for the long kernel */
}
#endif
