/*
 * Gives the stalls their advice. This comes after all stalls are known: the cost of eager
 * loading and the list of late kernels cover the whole trace.
 */
#include "report/analyse/stalls/advice.h"

#include "report/analyse/stalls/run.h"
#include "report/show/format.h"
#include "trace/call_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* Text of limited length; the rest is cut off. */
struct gv_advice_out {
    char *text;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct gv_advice_out *out, const char *format,
                                                      ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(out->text + out->used, GV_ADVICE_BYTES - out->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        out->used += (size_t)length;
    if (out->used > GV_ADVICE_BYTES - 1)
        out->used = GV_ADVICE_BYTES - 1;
}

/* Shortens a name, between two characters. */
static void cut_name(char out[GV_ADVICE_NAME_BYTES], const char *name)
{
    size_t length = strlen(name);

    if (length < GV_ADVICE_NAME_BYTES) {
        strcpy(out, name);
        return;
    }
    length = GV_ADVICE_NAME_BYTES - 4;
    while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--;
    memcpy(out, name, length);
    strcpy(out + length, "...");
}

static void add_kernel_name(struct gv_advice_out *out, const char *name)
{
    char plain[GV_KERNEL_NAME_BYTES], cut[GV_ADVICE_NAME_BYTES];

    gv_kernel_name_short(name, plain, sizeof(plain));
    cut_name(cut, plain);
    add(out, "%s", cut);
}

static void add_name(struct gv_advice_out *out, const char *name, const char *otherwise)
{
    char cut[GV_ADVICE_NAME_BYTES];

    if (name)
        cut_name(cut, name);
    add(out, "%s", name ? cut : otherwise);
}

static void add_host(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char ran[GV_FORMAT_BYTES];

    add(out, facts->host_name ? "host function " : "a host function");
    if (facts->host_name)
        add_kernel_name(out, facts->host_name);
    add(out, " (%s)", gv_format_duration(ran, facts->host_ns));
    if (facts->host_where) {
        add(out, ", launched at ");
        add_name(out, facts->host_where, "");
    }
}

static void add_waited(struct gv_advice_out *out, const struct gv_advice_facts *facts)
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

static void add_as_set(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (is_set(facts, GV_ENVIRONMENT_CUDA_MODULE_LOADING, "EAGER"))
        add(out, ", as here,");
}

static void add_eager(struct gv_advice_out *out, const struct gv_advice_facts *facts)
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

/* Whether a name can be pasted into a program. */
static bool can_be_written(const char *name)
{
    return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_:<>, *&")];
}

/* Adds the call that loads a late kernel. false: it cannot be written. */
static bool add_load(struct gv_advice_out *out, const char *kernel, bool runtime)
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

static void add_warmup(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    bool runtime = facts->call && gv_api_is_runtime(facts->call), more = false;
    bool python = facts->where && strstr(facts->where, ".py:");
    size_t before = out->used;
    bool any = false;

    if (python) {
        add(out, " The simplest way: run the code at ");
        add_name(out, facts->where, "");
        add(out, " once, on little data.");
        before = out->used;
    }
    add(out, " To paste:");
    for (int i = 0; i < facts->late_count && !python; i++)
        any |= add_load(out, facts->late[i], runtime);
    if (!any)
        out->used = before;
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

static void add_arch(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        add(out, "sm_%d", facts->arch);
    else
        add(out, "this GPU's architecture");
}

static void add_arch_flags(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        add(out, "nvcc -gencode arch=compute_%d,code=sm_%d", facts->arch, facts->arch);
    else
        add(out, "nvcc -arch=native");
}

static void add_sass(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->jit_ns < 1000000)
        return;
    add(out, " Ship code for ");
    add_arch(out, facts);
    add(out, " instead of PTX: compiling took %s of it.", gv_format_duration(time, facts->jit_ns));
}

static void add_again(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->again > 1)
        add(out,
            " The same code was loaded %" PRId64 " times, %s together: load it once, and "
            "keep it.",
            facts->again, gv_format_duration(time, facts->again_ns));
}

static void add_place(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->where) {
        add(out, " at ");
        add_name(out, facts->where, "");
    }
}

static void add_call(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add_name(out, facts->call, "the call");
}

static void add_kernel(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->kernel)
        add_kernel_name(out, facts->kernel);
    else
        add(out, "its kernel");
}

static void add_module(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add(out, "%s", facts->module[0] ? facts->module : "the code");
}

static void add_blocker(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    add_name(out, facts->blocker, "the other thread's call");
    add(out, " of another thread");
    if (facts->blocker_where) {
        add(out, " at ");
        add_name(out, facts->blocker_where, "");
    }
}

/* As "stalls" has it in other_did. */
static void add_other(struct gv_advice_out *out, const struct gv_advice_facts *facts)
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
        if (facts->blocker_where) {
            add(out, " at ");
            add_name(out, facts->blocker_where, "");
        }
    } else {
        add(out, strcmp(did, "start") == 0 ? " started"
                 : strcmp(did, "end") == 0 ? " ended"
                                           : " used the GPU");
    }
}

static void add_why(struct gv_advice_out *out, const struct gv_advice_facts *facts)
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
static void add_unseen_memory(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (!facts->waited_kernel && !facts->waited_kind)
        add(out, " Whether its memory is already pinned is unknown.");
}

static void add_free_async(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->call && gv_api_is_runtime(facts->call))
        add(out, "cudaFreeAsync in the stream that used the memory (with cudaMallocAsync)");
    else
        add(out, "cuMemFreeAsync in the stream that used the memory (with cuMemAllocAsync)");
}

static void add_threshold(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    bool runtime = facts->call && gv_api_is_runtime(facts->call);

    if (facts->where && strstr(facts->where, ".py:")) {
        add(out, "cudaMemPoolSetAttribute and cudaMemPoolAttrReleaseThreshold (in CuPy,"
                 " cupy.cuda.runtime.memPoolSetAttribute)");
        return;
    }
    add(out, "uint64_t bytes = UINT64_MAX; %s gives the device's pool",
        runtime ? "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);"
                  " cudaDeviceGetMemPool"
                : "cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);"
                  " cuDeviceGetMemPool");
}

static void add_pools(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->pool_count > 1)
        add(out, " That saves %s in %" PRId64 " allocations.",
            gv_format_duration(time, facts->pool_ns), facts->pool_count);
}

/* The fix depends on whether it waited or compiled. */
static void add_loading(struct gv_advice_out *out, const struct gv_advice_facts *facts)
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
    void (*add)(struct gv_advice_out *out, const struct gv_advice_facts *facts);
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
static size_t add_word(struct gv_advice_out *out, const struct gv_advice_facts *facts,
                       const char *text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].name);
        if (strncmp(text, words[i].name, length) == 0) {
            words[i].add(out, facts);
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

static void add_notes(struct gv_advice_out *out, const struct gv_advice_facts *facts,
                      enum gv_cause cause)
{
    for (size_t i = 0; i < NOTES && !facts->in_flight; i++)
        if (notes[i].cause == cause && is_set(facts, notes[i].variable, notes[i].value) &&
            (!notes[i].library[0] || facts->in_library))
            add(out, " %s", notes[i].text);
}

/* The other ranks may need this one's next call to arrive. */
static void add_collective(struct gv_advice_out *out, const struct gv_advice_facts *facts,
                           enum gv_cause cause)
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
    struct gv_advice_out out = {.text = text};
    const char *from = advice_of(facts, cause);

    text[0] = '\0';
    while (*from) {
        size_t length = *from == '{' ? add_word(&out, facts, from) : 0;
        if (!length) {
            length = 1 + strcspn(from + 1, "{");
            add(&out, "%.*s", (int)length, from);
        }
        from += length;
    }
    add_notes(&out, facts, cause);
    add_collective(&out, facts, cause);
    while (out.used > 0 && text[out.used - 1] == ' ')
        text[--out.used] = '\0';
}

static void describe_module(struct gv_advice_facts *facts, const char *kind, const char *name,
                            int64_t bytes)
{
    char cut[GV_ADVICE_NAME_BYTES];

    if (name) {
        cut_name(cut, name);
        snprintf(facts->module, sizeof(facts->module), "%s", cut);
    } else if (bytes > 0) {
        snprintf(facts->module, sizeof(facts->module), "the %.16s of %" PRId64 " bytes",
                 kind ? kind : "image", bytes);
    } else {
        snprintf(facts->module, sizeof(facts->module), "the %.16s", kind ? kind : "image");
    }
}

void gv_advice_remember(struct gv_advice_facts *facts, const char *kernel)
{
    if (facts->late_count == GV_ADVICE_LATE || strlen(kernel) >= sizeof(facts->late[0]))
        facts->late_more++;
    else
        strcpy(facts->late[facts->late_count++], kernel);
}

/* ---- facts ---- */

/* A file's name and a line, or a function. */
#define PLACE_BYTES 512

enum gv_advised_column {
    GV_ADVISED_ID,
    GV_ADVISED_CAUSE,
    GV_ADVISED_JIT,
    GV_ADVISED_CALL,
    GV_ADVISED_KERNEL,
    GV_ADVISED_PROCESS,
    GV_ADVISED_WAITED_KERNEL,
    GV_ADVISED_WAITED_KIND,
    GV_ADVISED_PRESUMED,
    GV_ADVISED_BLOCKER,
    GV_ADVISED_BLOCKER_CAUSE,
    GV_ADVISED_DRAINED,
    GV_ADVISED_CALL_ID,
    GV_ADVISED_BLOCKER_ID,
    GV_ADVISED_UNSURE,
    GV_ADVISED_OTHER_PID,
    GV_ADVISED_OTHER_NAME,
    GV_ADVISED_OTHER_DID,
    GV_ADVISED_HOST,
    GV_ADVISED_HOST_NS,
    GV_ADVISED_HOST_CALL,
};

/* Keeps the last text of each cause: most stalls of a program are alike. */
struct gv_advised {
    char last[GV_CAUSE_COUNT][GV_ADVICE_BYTES];
    int64_t last_id[GV_CAUSE_COUNT];
    char text[GV_ADVICE_BYTES];
    /* of the call, of the one that blocked it, and of the launch of a host function */
    char places[3][PLACE_BYTES];
    struct gv_advice_facts facts;
    int64_t facts_process; /* whose architecture, late kernels and pools the facts hold */
};

static const char *text_of(sqlite3_stmt *row, enum gv_advised_column column)
{
    return (const char *)sqlite3_column_text(row, (int)column);
}

static int read_environment(struct gv_stall_run *run, struct gv_advice_facts *facts,
                            int64_t process)
{
    static const char *const names[GV_ENVIRONMENT_COUNT] = {
#define GV_ENVIRONMENT(name, ...) #name,
#include "trace/environment.def"
    };
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_ENVIRONMENT, &error);

    memset(facts->environment, 0, sizeof(facts->environment));
    if (rows)
        sqlite3_bind_int64(rows, 1, process);
    while (gv_stall_next(run, rows, &error)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        const char *value = (const char *)sqlite3_column_text(rows, 1);
        for (size_t i = 0; i < GV_ENVIRONMENT_COUNT && name && value; i++)
            if (strcmp(names[i], name) == 0)
                snprintf(facts->environment[i], GV_ADVICE_VALUE, "=%s", value);
    }
    return error;
}

/* Whether the call came through the library of its cause's note. */
static int read_library(struct gv_stall_run *run, struct gv_advice_facts *facts,
                        enum gv_cause cause, int64_t call)
{
    sqlite3_stmt *row;
    int error = 0;

    facts->in_library = false;
    for (size_t i = 0; i < NOTES && !error; i++) {
        if (notes[i].cause != cause || !notes[i].library[0] ||
            !is_set(facts, notes[i].variable, notes[i].value))
            continue;
        row = gv_stall_statement(run, GV_STALL_IN_LIBRARY, &error);
        if (row) {
            sqlite3_bind_int64(row, 1, call);
            sqlite3_bind_text(row, 2, notes[i].library, -1, SQLITE_STATIC);
        }
        facts->in_library |= gv_stall_next(run, row, &error);
    }
    return error;
}

/* A process's architecture and variables, the kernels that it loaded late, and what its pools cost
 * it. */
static int read_process(struct gv_stall_run *run, struct gv_advised *advised, int64_t process)
{
    struct gv_advice_facts *facts = &advised->facts;
    sqlite3_stmt *rows;
    int error;

    if (advised->facts_process == process)
        return 0;
    advised->facts_process = process;
    rows = gv_stall_row(run, GV_STALL_ARCHITECTURE, process, &error);
    facts->arch = rows ? sqlite3_column_int(rows, 0) : 0;
    facts->late_count = facts->late_more = 0;
    if (!error)
        rows = gv_stall_row(run, GV_STALL_POOLS, process, &error);
    if (!error) {
        facts->pool_count = sqlite3_column_int64(rows, 0);
        facts->pool_ns = sqlite3_column_int64(rows, 1);
    }
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_LATE_KERNELS, &error);
    if (!error)
        sqlite3_bind_int64(rows, 1, process);
    while (!error && gv_stall_next(run, rows, &error))
        gv_advice_remember(facts, (const char *)sqlite3_column_text(rows, 0));
    return error ? error : read_environment(run, facts, process);
}

/* Finds the text's row, or adds it. */
static int store_text(struct gv_stall_run *run, struct gv_advised *advised, enum gv_cause cause,
                      int64_t *id)
{
    static const enum gv_stall_statement statements[] = {GV_STALL_ADD_TEXT, GV_STALL_FIND_TEXT};
    int error = 0;

    *id = advised->last_id[cause];
    if (*id && strcmp(advised->last[cause], advised->text) == 0)
        return 0;
    for (int i = 0; i < 2 && !error; i++) {
        sqlite3_stmt *row = gv_stall_statement(run, statements[i], &error);
        if (row)
            sqlite3_bind_text(row, 1, advised->text, -1, SQLITE_STATIC);
        *id = gv_stall_next(run, row, &error) ? sqlite3_column_int64(row, 0) : 0;
    }
    strcpy(advised->last[cause], advised->text);
    advised->last_id[cause] = *id;
    return error;
}

/* Describes what the call loaded. */
static int read_module(struct gv_stall_run *run, struct gv_advice_facts *facts, int64_t call)
{
    int error;
    sqlite3_stmt *row = gv_stall_row(run, GV_STALL_LOADED, call, &error);

    facts->module[0] = '\0';
    facts->again = facts->again_ns = 0;
    if (row) {
        describe_module(facts, (const char *)sqlite3_column_text(row, 0),
                        (const char *)sqlite3_column_text(row, 1), sqlite3_column_int64(row, 2));
        facts->again = sqlite3_column_int64(row, 3);
        facts->again_ns = sqlite3_column_int64(row, 4);
    }
    return error;
}

/* Where in the program a call was made. *place is unchanged if that is not known. */
static int read_place(struct gv_stall_run *run, enum gv_stall_statement which, int64_t call,
                      char *room, const char **place)
{
    int error;
    sqlite3_stmt *row = gv_stall_row(run, which, call, &error);
    const char *text = row ? (const char *)sqlite3_column_text(row, 0) : NULL;

    if (text) {
        snprintf(room, PLACE_BYTES, "%s", text);
        *place = room;
    }
    return error;
}

static int read_places(struct gv_stall_run *run, struct gv_advised *advised, enum gv_cause cause,
                       sqlite3_stmt *row)
{
    int64_t call = sqlite3_column_int64(row, GV_ADVISED_CALL_ID);
    int64_t blocker = sqlite3_column_int64(row, GV_ADVISED_BLOCKER_ID);
    struct gv_advice_facts *facts = &advised->facts;
    int error;

    facts->where = facts->blocker_where = facts->host_where = NULL;
    error = read_place(run, GV_STALL_PLACE, call, advised->places[0], &facts->where);
    if (!error && cause == GV_CAUSE_MODULE_LOAD)
        error = read_place(run, GV_STALL_CALLER, call, advised->places[0], &facts->where);
    if (!error)
        error = read_place(run, GV_STALL_PLACE, blocker, advised->places[1], &facts->blocker_where);
    if (!error && facts->host_ns)
        error = read_place(run, GV_STALL_PLACE, sqlite3_column_int64(row, GV_ADVISED_HOST_CALL),
                           advised->places[2], &facts->host_where);
    return error;
}

static int set_advice(struct gv_stall_run *run, enum gv_stall_statement which, int64_t advice,
                      int64_t stall)
{
    int error;
    sqlite3_stmt *set = gv_stall_statement(run, which, &error);

    if (!set)
        return error;
    sqlite3_bind_int64(set, 1, advice);
    if (stall)
        sqlite3_bind_int64(set, 2, stall);
    gv_stall_next(run, set, &error);
    return error;
}

static int advise_stall(struct gv_stall_run *run, struct gv_advised *advised, sqlite3_stmt *row)
{
    const char *cause_name = text_of(row, GV_ADVISED_CAUSE);
    enum gv_cause cause = gv_cause_find(cause_name ? cause_name : "");
    struct gv_advice_facts *facts = &advised->facts;
    int64_t id = 0;
    int error;

    if (cause == GV_CAUSE_COUNT)
        return 0;
    error = read_process(run, advised, sqlite3_column_int64(row, GV_ADVISED_PROCESS));
    if (!error)
        error = read_module(run, facts, sqlite3_column_int64(row, GV_ADVISED_CALL_ID));
    if (!error)
        error = read_library(run, facts, cause, sqlite3_column_int64(row, GV_ADVISED_CALL_ID));
    if (error)
        return error;
    facts->jit_ns = sqlite3_column_int64(row, GV_ADVISED_JIT);
    facts->call = text_of(row, GV_ADVISED_CALL);
    facts->kernel = text_of(row, GV_ADVISED_KERNEL);
    facts->waited_kernel = text_of(row, GV_ADVISED_WAITED_KERNEL);
    facts->waited_kind = text_of(row, GV_ADVISED_WAITED_KIND);
    facts->presumed = text_of(row, GV_ADVISED_PRESUMED);
    facts->blocker = text_of(row, GV_ADVISED_BLOCKER);
    facts->blocker_cause = text_of(row, GV_ADVISED_BLOCKER_CAUSE);
    facts->unsure = sqlite3_column_int(row, GV_ADVISED_UNSURE) != 0;
    facts->other_pid = sqlite3_column_int64(row, GV_ADVISED_OTHER_PID);
    facts->other_name = text_of(row, GV_ADVISED_OTHER_NAME);
    facts->other_did = text_of(row, GV_ADVISED_OTHER_DID);
    facts->drained = sqlite3_column_int64(row, GV_ADVISED_DRAINED);
    facts->host_name = text_of(row, GV_ADVISED_HOST);
    facts->host_ns = sqlite3_column_int64(row, GV_ADVISED_HOST_NS);
    error = read_places(run, advised, cause, row);
    if (error)
        return error;
    gv_advice_write(facts, cause, advised->text);
    error = store_text(run, advised, cause, &id);
    return error
               ? error
               : set_advice(run, GV_STALL_SET_ADVICE, id, sqlite3_column_int64(row, GV_ADVISED_ID));
}

/* All unexplained stalls have the same advice. */
static int advise_unknown(struct gv_stall_run *run, struct gv_advised *advised)
{
    int64_t id = 0;
    int error;

    gv_advice_write(&advised->facts, GV_CAUSE_UNKNOWN, advised->text);
    error = store_text(run, advised, GV_CAUSE_UNKNOWN, &id);
    return error ? error : set_advice(run, GV_STALL_SET_ADVICE_OF_UNKNOWN, id, 0);
}

static int advise_all(struct gv_stall_run *run, struct gv_advised *advised)
{
    int error;
    sqlite3_stmt *rows = gv_stall_statement(run, GV_STALL_EAGER_COST, &error);

    if (gv_stall_next(run, rows, &error)) {
        advised->facts.eager_count = sqlite3_column_int64(rows, 0);
        advised->facts.eager_ns = sqlite3_column_int64(rows, 1);
    }
    if (!error)
        error = advise_unknown(run, advised);
    if (!error)
        error = gv_stall_script(run->trace, GV_STALL_NEW_CALLERS);
    if (!error)
        error = gv_stall_script(run->trace, GV_STALL_NEW_BLOCKERS);
    if (!error)
        rows = gv_stall_statement(run, GV_STALL_ADVISED, &error);
    while (!error && gv_stall_next(run, rows, &error))
        error = advise_stall(run, advised, rows);
    return error;
}

int gv_stall_advise(struct gv_stall_run *run)
{
    struct gv_advised *advised = calloc(1, sizeof(*advised));
    int error;

    if (!advised)
        return -ENOMEM;
    advised->facts_process = -1;
    error = advise_all(run, advised);
    free(advised);
    return error;
}
