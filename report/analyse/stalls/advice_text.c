#include "report/analyse/stalls/stall_advice.h"
#include "report/show/format.h"
#include "trace/call_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct gv_advice_row {
    enum gv_cause cause;
    const char *part, *text;
};

static const struct gv_advice_row gv_advices[] = {
#define GV_ADVICE(cause, part, text) {GV_CAUSE_##cause, part, text},
#include "report/analyse/stalls/advice.def"
};

/* Text that grows up to its room; what does not fit is left out. */
struct gv_advice_out {
    char *text;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void gv_advice_add(struct gv_advice_out *out,
                                                                const char *format, ...)
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

/* Cuts a name between its characters. */
static void gv_advice_cut(char out[GV_ADVICE_NAME_BYTES], const char *name)
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

static void gv_advice_add_kernel_name(struct gv_advice_out *out, const char *name)
{
    char plain[GV_KERNEL_NAME_BYTES], cut[GV_ADVICE_NAME_BYTES];

    gv_kernel_name_short(name, plain, sizeof(plain));
    gv_advice_cut(cut, plain);
    gv_advice_add(out, "%s", cut);
}

static void gv_advice_add_name(struct gv_advice_out *out, const char *name, const char *otherwise)
{
    char cut[GV_ADVICE_NAME_BYTES];

    if (name)
        gv_advice_cut(cut, name);
    gv_advice_add(out, "%s", name ? cut : otherwise);
}

static void gv_advice_add_waited(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->waited_kernel) {
        gv_advice_add_kernel_name(out, facts->waited_kernel);
    } else if (facts->waited_kind) {
        gv_advice_add(out, "%s", facts->waited_kind);
    } else {
        gv_advice_add(out, "the work that was queued");
        if (facts->presumed) {
            gv_advice_add(out, ", presumably ");
            gv_advice_add_kernel_name(out, facts->presumed);
        }
        return;
    }
    if (facts->drained > 1)
        gv_advice_add(out, ", the last of %" PRId64 " operations", facts->drained);
}

static void gv_advice_add_eager(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char cost[GV_FORMAT_BYTES];

    gv_advice_add(out, " Or start with CUDA_MODULE_LOADING=EAGER");
    if (facts->eager_count == 1)
        gv_advice_add(out, " (about %s more at start, from the one lazy load seen)",
                      gv_format_duration(cost, facts->eager_ns));
    else if (facts->eager_count > 0)
        gv_advice_add(out, " (about %s more at start, from the %" PRId64 " lazy loads seen)",
                      gv_format_duration(cost, facts->eager_ns), facts->eager_count);
    gv_advice_add(out, ".");
}

/* Whether a name can stand in a program. */
static bool gv_advice_can_be_written(const char *name)
{
    return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_:<>, *&")];
}

/* A late kernel as a call that loads it; false: there is none. */
static bool gv_advice_add_load(struct gv_advice_out *out, const char *kernel, bool runtime)
{
    char name[GV_KERNEL_NAME_BYTES];

    gv_kernel_name_qualified(kernel, name, sizeof(name));
    if (!gv_advice_can_be_written(runtime ? name : kernel))
        return false;
    if (runtime)
        gv_advice_add(out, " cudaFuncGetAttributes(&attributes, %s);", name);
    else
        gv_advice_add(out,
                      " cuLibraryGetKernel(&kernel, library, \"%s\");"
                      " cuKernelGetFunction(&function, kernel);",
                      kernel);
    return true;
}

static void gv_advice_add_warmup(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    bool runtime = facts->call && gv_api_is_runtime(facts->call), more = false;
    bool python = facts->where && strstr(facts->where, ".py:");
    size_t before = out->used;
    bool any = false;

    if (python) {
        gv_advice_add(out, " The simplest is to do once, with little data, what is done at ");
        gv_advice_add_name(out, facts->where, "");
        gv_advice_add(out, ".");
        before = out->used;
    }
    gv_advice_add(out, " To paste:");
    for (int i = 0; i < facts->late_count && !python; i++)
        any |= gv_advice_add_load(out, facts->late[i], runtime);
    if (!any)
        out->used = before;
    for (int i = 0; i < facts->late_count && (any || facts->late_count > 1); i++) {
        char name[GV_KERNEL_NAME_BYTES];
        gv_kernel_name_qualified(facts->late[i], name, sizeof(name));
        if (gv_advice_can_be_written(runtime ? name : facts->late[i]))
            continue;
        gv_advice_add(out, more ? "; " : any ? " Also loaded late: " : " Loaded late: ");
        gv_advice_add_kernel_name(out, facts->late[i]);
        more = true;
    }
    if (facts->late_more > 0)
        gv_advice_add(out, "%s and %d more were loaded late", more ? ";" : "", facts->late_more);
    if (more || facts->late_more > 0)
        gv_advice_add(out, ".");
}

static void gv_advice_add_arch(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        gv_advice_add(out, "sm_%d", facts->arch);
    else
        gv_advice_add(out, "this GPU's architecture");
}

static void gv_advice_add_arch_flags(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->arch > 0)
        gv_advice_add(out, "nvcc -gencode arch=compute_%d,code=sm_%d", facts->arch, facts->arch);
    else
        gv_advice_add(out, "nvcc -arch=native");
}

static void gv_advice_add_sass(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->jit_ns < 1000000)
        return;
    gv_advice_add(out, " Ship code for ");
    gv_advice_add_arch(out, facts);
    gv_advice_add(out, " instead of PTX: compiling took %s of it.",
                  gv_format_duration(time, facts->jit_ns));
}

static void gv_advice_add_again(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    char time[GV_FORMAT_BYTES];

    if (facts->again > 1)
        gv_advice_add(out,
                      " The same code was loaded %" PRId64 " times, %s together: load it once, and "
                      "keep it.",
                      facts->again, gv_format_duration(time, facts->again_ns));
}

static void gv_advice_add_place(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->where) {
        gv_advice_add(out, " at ");
        gv_advice_add_name(out, facts->where, "");
    }
}

static void gv_advice_add_call(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    gv_advice_add_name(out, facts->call, "the call");
}

static void gv_advice_add_kernel(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    if (facts->kernel)
        gv_advice_add_kernel_name(out, facts->kernel);
    else
        gv_advice_add(out, "its kernel");
}

static void gv_advice_add_module(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    gv_advice_add(out, "%s", facts->module[0] ? facts->module : "the code");
}

static void gv_advice_add_blocker(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    gv_advice_add_name(out, facts->blocker, "the other thread's call");
    gv_advice_add(out, " of another thread");
    if (facts->blocker_where) {
        gv_advice_add(out, " at ");
        gv_advice_add_name(out, facts->blocker_where, "");
    }
}

static void gv_advice_add_why(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    enum gv_cause cause =
        facts->blocker_cause ? gv_cause_find(facts->blocker_cause) : GV_CAUSE_COUNT;

    if (cause != GV_CAUSE_COUNT)
        gv_advice_add(out, "%s.", gv_cause_why(cause));
    if (facts->waited_kernel || facts->waited_kind) {
        gv_advice_add(out, " That was ");
        gv_advice_add_waited(out, facts);
        gv_advice_add(out, ".");
    }
}

/* What it waited for is known from the GPU's side, as is the memory. */
static void gv_advice_add_unseen_memory(struct gv_advice_out *out,
                                        const struct gv_advice_facts *facts)
{
    if (!facts->waited_kernel && !facts->waited_kind)
        gv_advice_add(out, " Whether its memory is pinned already was not seen.");
}

/* Which of two it was decides what helps. */
static void gv_advice_add_loading(struct gv_advice_out *out, const struct gv_advice_facts *facts)
{
    gv_advice_add(out, facts->unsure ? "That helps if it waited for " : "Here it waited for ");
    gv_advice_add_waited(out, facts);
    if (facts->unsure) {
        gv_advice_add(out, ". If it compiled, which is not known without the GPU's side, ship code"
                           " for ");
        gv_advice_add_arch(out, facts);
        gv_advice_add(out, " instead of PTX alone (");
        gv_advice_add_arch_flags(out, facts);
        gv_advice_add(out, ")");
    }
    gv_advice_add(out, ".");
}

static const struct {
    const char *name;
    void (*add)(struct gv_advice_out *out, const struct gv_advice_facts *facts);
} gv_advice_words[] = {
    {"{call}", gv_advice_add_call},
    {"{kernel}", gv_advice_add_kernel},
    {"{module}", gv_advice_add_module},
    {"{waited}", gv_advice_add_waited},
    {"{blocker}", gv_advice_add_blocker},
    {"{where}", gv_advice_add_place},
    {"{arch}", gv_advice_add_arch},
    {"{arch_flags}", gv_advice_add_arch_flags},
    {"{eager}", gv_advice_add_eager},
    {"{warmup}", gv_advice_add_warmup},
    {"{sass}", gv_advice_add_sass},
    {"{loading}", gv_advice_add_loading},
    {"{again}", gv_advice_add_again},
    {"{why}", gv_advice_add_why},
    {"{unseen_memory}", gv_advice_add_unseen_memory},
};

/* The length of the word that stands at `text`, after adding what it means; 0: there is none. */
static size_t gv_advice_word(struct gv_advice_out *out, const struct gv_advice_facts *facts,
                             const char *text)
{
    for (size_t i = 0; i < sizeof(gv_advice_words) / sizeof(gv_advice_words[0]); i++) {
        size_t length = strlen(gv_advice_words[i].name);
        if (strncmp(text, gv_advice_words[i].name, length) == 0) {
            gv_advice_words[i].add(out, facts);
            return length;
        }
    }
    return 0;
}

void gv_advice_write(const struct gv_advice_facts *facts, enum gv_cause cause,
                     char text[GV_ADVICE_BYTES])
{
    struct gv_advice_out out = {.text = text};
    const char *from = "";

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(gv_advices) / sizeof(gv_advices[0]); i++)
        if (gv_advices[i].cause == cause &&
            (!gv_advices[i].part[0] || (facts->call && strstr(facts->call, gv_advices[i].part)))) {
            from = gv_advices[i].text;
            break;
        }
    while (*from) {
        size_t length = *from == '{' ? gv_advice_word(&out, facts, from) : 0;
        if (!length) {
            length = 1 + strcspn(from + 1, "{");
            gv_advice_add(&out, "%.*s", (int)length, from);
        }
        from += length;
    }
    while (out.used > 0 && text[out.used - 1] == ' ')
        text[--out.used] = '\0';
}

void gv_advice_module(struct gv_advice_facts *facts, const char *kind, const char *name,
                      int64_t bytes)
{
    char cut[GV_ADVICE_NAME_BYTES];

    if (name) {
        gv_advice_cut(cut, name);
        snprintf(facts->module, sizeof(facts->module), "%s", cut);
    } else if (bytes > 0) {
        snprintf(facts->module, sizeof(facts->module), "the %.16s of %" PRId64 " bytes",
                 kind ? kind : "image", bytes);
    } else {
        snprintf(facts->module, sizeof(facts->module), "the %.16s", kind ? kind : "image");
    }
}

void gv_advice_forget(struct gv_advice_facts *facts)
{
    facts->arch = facts->late_count = facts->late_more = 0;
}

void gv_advice_remember(struct gv_advice_facts *facts, const char *kernel)
{
    if (facts->late_count == GV_ADVICE_LATE || strlen(kernel) >= sizeof(facts->late[0]))
        facts->late_more++;
    else
        strcpy(facts->late[facts->late_count++], kernel);
}
