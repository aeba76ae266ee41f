#include "report/analyse/stalls/advice.h"

#include "report/show/format.h"
#include "trace/call_table.h"

#include <inttypes.h>
#include <string.h>

#define NAME_BYTES    200
#define add(out, ...) gv_format_add(out, GV_ADVICE_BYTES, __VA_ARGS__)

static void add_name(char *out, const char *name, const char *otherwise)
{
    char cut[NAME_BYTES];

    gv_format_cut(cut, sizeof(cut), name ? name : otherwise);
    add(out, "%s", cut);
}

static void add_kernel_name(char *out, const char *name)
{
    char plain[GV_KERNEL_NAME_BYTES];

    gv_kernel_name_short(name, plain, sizeof(plain));
    add_name(out, plain, "");
}

static void add_at(char *out, const char *place)
{
    if (place) {
        add(out, " at ");
        add_name(out, place, "");
    }
}

static void add_host(char *out, const struct gv_advice_facts *facts)
{
    char ran[GV_FORMAT_BYTES];

    add(out, facts->host_name ? "host function " : "a host function");
    if (facts->host_name)
        add_kernel_name(out, facts->host_name);
    add(out, " (%s)", gv_format_duration(ran, facts->host_ns));
    if (facts->host_where)
        add(out, ", launched");
    add_at(out, facts->host_where);
}

static void add_waited(char *out, const struct gv_advice_facts *facts)
{
    if (facts->host_ns) {
        add_host(out, facts);
        return;
    }
    if (facts->waited_kernel) {
        add_kernel_name(out, facts->waited_kernel);
    } else if (facts->waited_kind) {
        add(out, "%s", facts->waited_kind);
    } else {
        add(out, "the work that was queued");
        if (facts->presumed) {
            add(out, ", presumably ");
            add_kernel_name(out, facts->presumed);
        }
        return;
    }
    if (facts->drained > 1)
        add(out, ", the last of %" PRId64 " operations", facts->drained);
}

/* Whether the process had the variable, with a value that matches the glob. */
static bool is_set(const struct gv_advice_facts *facts, enum gv_environment variable,
                   const char *glob)
{
    const char *value = facts->environment[variable];

    return value[0] && sqlite3_strglob(glob, value + 1) == 0;
}

static void add_as_set(char *out, const struct gv_advice_facts *facts)
{
    if (is_set(facts, GV_ENVIRONMENT_CUDA_MODULE_LOADING, "EAGER"))
        add(out, ", as here,");
}

static void add_eager(char *out, const struct gv_advice_facts *facts)
{
    char cost[GV_FORMAT_BYTES];

    if (is_set(facts, GV_ENVIRONMENT_CUDA_MODULE_LOADING, "EAGER"))
        return;
    add(out, " Or start with CUDA_MODULE_LOADING=EAGER");
    if (is_set(facts, GV_ENVIRONMENT_CUDA_MODULE_LOADING, "LAZY"))
        add(out, " instead of LAZY");
    if (facts->eager_count == 1)
        add(out, " (adds about %s at the start, judging by one lazy load)",
            gv_format_duration(cost, facts->eager_ns));
    else if (facts->eager_count > 0)
        add(out, " (adds about %s at the start, judging by %" PRId64 " lazy loads)",
            gv_format_duration(cost, facts->eager_ns), facts->eager_count);
    add(out, ".");
}

static bool is_runtime(const struct gv_advice_facts *facts)
{
    return facts->call && gv_api_is_runtime(facts->call);
}

static bool is_python(const struct gv_advice_facts *facts)
{
    return facts->where && strstr(facts->where, ".py:");
}

/* Whether a name can be pasted into a program. */
static bool can_be_written(const char *name)
{
    return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_:<>, *&")];
}

/* Adds the call that loads a late kernel. false: it cannot be written. */
static bool add_load(char *out, const char *kernel, bool runtime)
{
    char name[GV_KERNEL_NAME_BYTES];

    gv_kernel_name_qualified(kernel, name, sizeof(name));
    if (!can_be_written(runtime ? name : kernel) || gv_kernel_is_collective(kernel))
        return false;
    if (runtime)
        add(out, " cudaFuncGetAttributes(&attributes, %s);", name);
    else
        add(out,
            " cuLibraryGetKernel(&kernel, library, \"%s\");"
            " cuKernelGetFunction(&function, kernel);",
            kernel);
    return true;
}

static void add_warmup(char *out, const struct gv_advice_facts *facts)
{
    bool runtime = is_runtime(facts), python = is_python(facts), any = false, more = false;
    size_t before = strlen(out);

    if (python) {
        add(out, " The simplest way: run the code at ");
        add_name(out, facts->where, "");
        add(out, " once, on little data.");
        before = strlen(out);
    }
    add(out, " To paste:");
    for (int i = 0; i < facts->late_count && !python; i++)
        any |= add_load(out, facts->late[i], runtime);
    if (!any)
        out[before] = '\0';
    for (int i = 0; i < facts->late_count && (any || facts->late_count > 1); i++) {
        char name[GV_KERNEL_NAME_BYTES];
        gv_kernel_name_qualified(facts->late[i], name, sizeof(name));
        if (can_be_written(runtime ? name : facts->late[i]))
            continue;
        add(out, more ? "; " : any ? " Also loaded late: " : " Loaded late: ");
        add_kernel_name(out, facts->late[i]);
        more = true;
    }
    if (facts->late_more > 0)
        add(out, "%s and %d more were loaded late", more ? ";" : "", facts->late_more);
    if (more || facts->late_more > 0)
        add(out, ".");
}

static void add_arch(char *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        add(out, "sm_%d", facts->arch);
    else
        add(out, "this GPU's architecture");
}

static void add_arch_flags(char *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        add(out, "nvcc -gencode arch=compute_%d,code=sm_%d", facts->arch, facts->arch);
    else
        add(out, "nvcc -arch=native");
}

static void add_sass(char *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->jit_ns < 1000000)
        return;
    add(out, " Ship code for ");
    add_arch(out, facts);
    add(out, " instead of PTX: compiling took %s of it.", gv_format_duration(time, facts->jit_ns));
}

static void add_again(char *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->again > 1)
        add(out,
            " The same code was loaded %" PRId64 " times, %s together: load it once, and "
            "keep it.",
            facts->again, gv_format_duration(time, facts->again_ns));
}

static void add_place(char *out, const struct gv_advice_facts *facts)
{
    add_at(out, facts->where);
}

static void add_call(char *out, const struct gv_advice_facts *facts)
{
    add_name(out, facts->call, "the call");
}

static void add_kernel(char *out, const struct gv_advice_facts *facts)
{
    if (facts->kernel)
        add_kernel_name(out, facts->kernel);
    else
        add(out, "its kernel");
}

static void add_module(char *out, const struct gv_advice_facts *facts)
{
    if (facts->module_name && facts->module_name[0]) {
        add_name(out, facts->module_name, "");
        return;
    }
    add(out, "the %.16s", facts->module_kind ? facts->module_kind : "code");
    if (facts->module_bytes > 0)
        add(out, " of %" PRId64 " bytes", facts->module_bytes);
}

static void add_blocker(char *out, const struct gv_advice_facts *facts)
{
    add_name(out, facts->blocker, "the other thread's call");
    add(out, " of another thread");
    add_at(out, facts->blocker_where);
}

/* As "stalls" has it in other_did. */
static void add_other(char *out, const struct gv_advice_facts *facts)
{
    const char *did = facts->other_did ? facts->other_did : "";

    if (facts->other_pid)
        add(out, "Process %" PRId64, facts->other_pid);
    else
        add(out, "Another process");
    if (facts->other_name) {
        add(out, " (");
        add_name(out, facts->other_name, "");
        add(out, ")");
    }
    if (strcmp(did, "call") == 0) {
        add(out, " was in ");
        add_name(out, facts->blocker, "a call");
        add_at(out, facts->blocker_where);
    } else {
        add(out, strcmp(did, "start") == 0 ? " started"
                 : strcmp(did, "end") == 0 ? " ended"
                                           : " used the GPU");
    }
}

static void add_why(char *out, const struct gv_advice_facts *facts)
{
    enum gv_cause cause =
        facts->blocker_cause ? gv_cause_find(facts->blocker_cause) : GV_CAUSE_COUNT;

    if (cause != GV_CAUSE_COUNT)
        add(out, "%s.", gv_cause_why(cause));
    if (facts->waited_kernel || facts->waited_kind || facts->host_ns) {
        add(out, " That call waited for ");
        add_waited(out, facts);
        add(out, ".");
    }
}

/* If the GPU side is known, so is the kind of memory. */
static void add_unseen_memory(char *out, const struct gv_advice_facts *facts)
{
    if (!facts->waited_kernel && !facts->waited_kind)
        add(out, " Whether its memory is already pinned is unknown.");
}

static void add_free_async(char *out, const struct gv_advice_facts *facts)
{
    add(out, is_runtime(facts)
                 ? "cudaFreeAsync in the stream that used the memory (with cudaMallocAsync)"
                 : "cuMemFreeAsync in the stream that used the memory (with cuMemAllocAsync)");
}

static void add_threshold(char *out, const struct gv_advice_facts *facts)
{
    if (is_python(facts)) {
        add(out, "cudaMemPoolSetAttribute and cudaMemPoolAttrReleaseThreshold (in CuPy,"
                 " cupy.cuda.runtime.memPoolSetAttribute)");
        return;
    }
    add(out, "uint64_t bytes = UINT64_MAX; %s gives the device's pool",
        is_runtime(facts)
            ? "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);"
              " cudaDeviceGetMemPool"
            : "cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);"
              " cuDeviceGetMemPool");
}

static void add_pools(char *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->pool_count > 1)
        add(out, " That saves %s in %" PRId64 " allocations.",
            gv_format_duration(time, facts->pool_ns), facts->pool_count);
}

/* The fix depends on whether it waited or compiled. */
static void add_loading(char *out, const struct gv_advice_facts *facts)
{
    add(out, facts->unsure ? "That helps if it waited for " : "Here it waited for ");
    add_waited(out, facts);
    if (facts->unsure) {
        add(out, ". If it compiled, which is unknown without the GPU side, ship code"
                 " for ");
        add_arch(out, facts);
        add(out, " instead of PTX alone (");
        add_arch_flags(out, facts);
        add(out, ")");
    }
    add(out, ".");
}

static const struct {
    const char *name;
    void (*tell)(char *out, const struct gv_advice_facts *facts);
} words[] = {
    {"{call}", add_call},
    {"{kernel}", add_kernel},
    {"{module}", add_module},
    {"{waited}", add_waited},
    {"{blocker}", add_blocker},
    {"{where}", add_place},
    {"{arch}", add_arch},
    {"{arch_flags}", add_arch_flags},
    {"{eager}", add_eager},
    {"{warmup}", add_warmup},
    {"{sass}", add_sass},
    {"{free_async}", add_free_async},
    {"{loading}", add_loading},
    {"{again}", add_again},
    {"{why}", add_why},
    {"{unseen_memory}", add_unseen_memory},
    {"{as_set}", add_as_set},
    {"{pools}", add_pools},
    {"{threshold}", add_threshold},
    {"{other}", add_other},
};

/* Adds what the word at `text` stands for. Returns its length; 0: not a word. */
static size_t add_word(char *out, const struct gv_advice_facts *facts, const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].name);
        if (strncmp(text, words[i].name, length) == 0) {
            words[i].tell(out, facts);
            return length;
        }
    }
    return 0;
}

static const struct {
    enum gv_cause cause;
    enum gv_environment variable;
    const char *value, *library, *text;
} notes[] = {
#define GV_VARIABLE_NOTE(cause, variable, value, library, text)                                    \
    {GV_CAUSE_##cause, GV_ENVIRONMENT_##variable, value, library, text},
#include "report/analyse/stalls/variables.def"
};
#define NOTES (sizeof(notes) / sizeof(notes[0]))

const char *gv_advice_library(const struct gv_advice_facts *facts, enum gv_cause cause)
{
    for (size_t i = 0; i < NOTES; i++)
        if (notes[i].cause == cause && notes[i].library[0] &&
            is_set(facts, notes[i].variable, notes[i].value))
            return notes[i].library;
    return NULL;
}

static void add_notes(char *out, const struct gv_advice_facts *facts, enum gv_cause cause)
{
    for (size_t i = 0; i < NOTES && !facts->in_flight; i++)
        if (notes[i].cause == cause && is_set(facts, notes[i].variable, notes[i].value) &&
            (!notes[i].library[0] || facts->in_library))
            add(out, " %s", notes[i].text);
}

/* The other ranks may need this one's next call to arrive. */
static void add_collective(char *out, const struct gv_advice_facts *facts, enum gv_cause cause)
{
    if (!facts->waited_kernel || !gv_cause_drains(cause) ||
        !gv_kernel_is_collective(facts->waited_kernel))
        return;
    add(out, " ");
    add_kernel_name(out, facts->waited_kernel);
    add(out, " is a collective of NCCL, which ends only when all ranks have arrived. This is a "
             "deadlock in the "
             "making: the job hangs as soon as one of them waits for this rank before it arrives. "
             "Make ");
    add_call(out, facts);
    add(out, " on every rank before the first collective, or while none is running.");
}

/* NCCL's kernels cannot be named in the program: only NCCL launches them. */
static const char collective_advice[] =
    "Run one collective of the same kind, type and communicator on all ranks before the GPU has "
    "other work: NCCL "
    "then launches {kernel}, and its code is loaded. Its first use, {call}{where}, waited for "
    "{waited}.{eager}";

static const char *advice_of(const struct gv_advice_facts *facts, enum gv_cause cause)
{
    if (cause == GV_CAUSE_LAZY_LOAD && facts->kernel && gv_kernel_is_collective(facts->kernel))
        return collective_advice;
    return facts->in_flight
               ? gv_cause_advice_in_flight(cause)
               : gv_cause_advice(cause, cause == GV_CAUSE_LOCK ? facts->blocker : facts->call);
}

void gv_advice_write(const struct gv_advice_facts *facts, enum gv_cause cause,
                     char text[GV_ADVICE_BYTES])
{
    const char *from = advice_of(facts, cause);
    size_t used;

    text[0] = '\0';
    while (*from) {
        size_t length = *from == '{' ? add_word(text, facts, from) : 0;
        if (!length) {
            length = 1 + strcspn(from + 1, "{");
            add(text, "%.*s", (int)length, from);
        }
        from += length;
    }
    add_notes(text, facts, cause);
    add_collective(text, facts, cause);
    for (used = strlen(text); used > 0 && text[used - 1] == ' '; used--)
        text[used - 1] = '\0';
}

void gv_advice_remember(struct gv_advice_facts *facts, const char *kernel)
{
    if (facts->late_count == GV_ADVICE_LATE || strlen(kernel) >= sizeof(facts->late[0]))
        facts->late_more++;
    else
        strcpy(facts->late[facts->late_count++], kernel);
}
