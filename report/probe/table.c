/* The probe's results as a table: as text, or as a part of a Markdown document. */
#include "report/probe/probe.h"
#include "report/show/format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define GV_PROBE_WORD_BYTES 96

/* How a table looks. */
struct gv_probe_style {
    const char *head;  /* call, with, idle, busy, waits */
    const char *row;   /* the same */
    const char *quote; /* around the name of a call */
    const char *title; /* before a title */
    const char *empty; /* for nothing measured */
};

static const struct gv_probe_style probe_as_text = {
    "%-31s %-43s %9s %9s  %s\n", "%-31s %-43s %9s %9s  %s\n", "", "", "",
};
static const struct gv_probe_style probe_as_markdown = {
    "| %s | %s | %s | %s | %s |\n|---|---|---|---|---|\n",
    "| %s | %s | %s | %s | %s |\n",
    "`",
    "## ",
    "-",
};

static const char *probe_failure(const struct gv_probe_row *row, const char *call, char *out)
{
    const char *name;

    if (row->status <= 0)
        return gv_probe_status_words[-row->status].text;
    name = gv_format_result(call, row->status);
    snprintf(out, GV_PROBE_WORD_BYTES, "failed with %" PRId32 "%s%s", row->status, name ? ", " : "",
             name ? name : "");
    return out;
}

static const char *probe_verdict(const struct gv_probe_result *result,
                                 const struct gv_probe_row *row, enum gv_probe_beside beside,
                                 const char *call, char *out)
{
    char kernel[GV_FORMAT_BYTES];

    if (row->status != GV_PROBE_MEASURED)
        return probe_failure(row, call, out);
    snprintf(out, GV_PROBE_WORD_BYTES, "%s", gv_probe_waits(row) ? "yes" : "no");
    if (row->waited && row->waited < row->rounds)
        gv_format_add(out, GV_PROBE_WORD_BYTES, ", %sin %" PRId32 " of %" PRId32 " rounds",
                      gv_probe_waits(row) ? "" : "but ", row->waited, row->rounds);
    if (beside <= GV_PROBE_BESIDE_LOAD && row->kernel_ns != result->kernel_ns)
        gv_format_add(out, GV_PROBE_WORD_BYTES, " (a kernel of %s)",
                      gv_format_duration(kernel, row->kernel_ns));
    return out;
}

static void probe_print_row(const struct gv_probe_result *result, int mode, int call,
                            const struct gv_probe_style *style, FILE *out)
{
    const struct gv_probe_row *row = &result->rows[mode][call];
    const struct gv_probe_subject *subject = &gv_probe_subjects[call];
    char idle[GV_FORMAT_BYTES], busy[GV_FORMAT_BYTES], word[GV_PROBE_WORD_BYTES], name[64];
    bool measured = row->status == GV_PROBE_MEASURED;

    snprintf(name, sizeof(name), "%s%s%s", style->quote, subject->call, style->quote);
    fprintf(out, style->row, name, subject->what,
            measured ? gv_format_duration(idle, row->idle_ns) : style->empty,
            measured ? gv_format_duration(busy, row->busy_ns) : style->empty,
            probe_verdict(result, row, subject->beside, subject->call, word));
}

static bool probe_differs(const struct gv_probe_result *result, int call)
{
    const struct gv_probe_row *lazy = &result->rows[GV_PROBE_LAZY][call];
    const struct gv_probe_row *eager = &result->rows[GV_PROBE_EAGER][call];

    return lazy->status != eager->status || gv_probe_waits(lazy) != gv_probe_waits(eager);
}

/* The rows from one kind of disturbance to another. */
static void probe_print_table(const struct gv_probe_result *result, enum gv_probe_beside first,
                              enum gv_probe_beside last, const struct gv_probe_style *style,
                              FILE *out)
{
    fprintf(out, style->head, "call", "with", first == GV_PROBE_BESIDE_GPU ? "idle GPU" : "alone",
            first == GV_PROBE_BESIDE_GPU ? "busy GPU" : "beside it", "waits");
    for (int call = 0; call < GV_PROBE_CALLS; call++)
        if (gv_probe_subjects[call].beside >= first && gv_probe_subjects[call].beside <= last)
            probe_print_row(result, GV_PROBE_LAZY, call, style, out);
}

static void probe_print_eager(const struct gv_probe_result *result,
                              const struct gv_probe_style *style, FILE *out)
{
    int differing = 0;

    fprintf(out, "\n%sWith CUDA_MODULE_LOADING=EAGER\n\n", style->title);
    for (int call = 0; call < GV_PROBE_CALLS; call++)
        differing += probe_differs(result, call);
    if (differing == 0) {
        fputs("The answers are the same.\n", out);
        return;
    }
    fputs("The answers are the same, except:\n\n", out);
    fprintf(out, style->head, "call", "with", "idle", "busy", "waits");
    for (int call = 0; call < GV_PROBE_CALLS; call++)
        if (probe_differs(result, call))
            probe_print_row(result, GV_PROBE_EAGER, call, style, out);
}

static void probe_print_machine(const struct gv_probe_result *result, FILE *out)
{
    const struct gv_probe_machine *machine = &result->machine;
    char date[32] = "", took[GV_FORMAT_BYTES];
    struct tm when;

    if (gmtime_r(&result->when, &when))
        strftime(date, sizeof(date), "%Y-%m-%d", &when);
    gv_format_text(out, machine->gpu, GV_PROBE_TEXT_BYTES, 0);
    fputs(", driver ", out);
    gv_format_text(out, machine->driver[0] ? machine->driver : "unknown", GV_PROBE_TEXT_BYTES, 0);
    fprintf(out, " (CUDA %d.%d), ", machine->cuda_version / 1000,
            machine->cuda_version % 1000 / 10);
    if (machine->runtime_version)
        fprintf(out, "libcudart %d.%d", machine->runtime_version / 1000,
                machine->runtime_version % 1000 / 10);
    else
        fputs("no libcudart found", out);
    fprintf(out, "; %s, measured in %s by gpuverify " GV_VERSION "\n", date,
            gv_format_duration(took, result->took_ns));
}

int gv_probe_print(const struct gv_probe_result *result, bool markdown, FILE *out)
{
    const struct gv_probe_style *style = markdown ? &probe_as_markdown : &probe_as_text;
    char kernel[GV_FORMAT_BYTES];

    probe_print_machine(result, out);
    fprintf(out, "\n%sBeside a kernel of %s on a stream of its own\n\n", style->title,
            gv_format_duration(kernel, result->kernel_ns));
    probe_print_table(result, GV_PROBE_BESIDE_GPU, GV_PROBE_BESIDE_GPU, style, out);
    fprintf(out, "\n%sBeside another thread's cuModuleLoadData, which waits for such a kernel\n\n",
            style->title);
    probe_print_table(result, GV_PROBE_BESIDE_LOAD, GV_PROBE_BESIDE_LOAD, style, out);
    fprintf(out, "\n%sBeside another thread's cuMemAllocHost of 128 MB, with an idle GPU\n\n",
            style->title);
    probe_print_table(result, GV_PROBE_BESIDE_PIN, GV_PROBE_BESIDE_UNREGISTER, style, out);
    probe_print_eager(result, style, out);
    return ferror(out) ? -EIO : 0;
}
