/* What the probe measured, for programs. docs/blocking-calls.md says what the fields are. */
#include "report/probe.h"

#include <inttypes.h>
#include <stdbool.h>

static void gv_probe_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned int)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void gv_probe_json_field(FILE *out, const char *name, const char *text, const char *end)
{
    fprintf(out, "\"%s\": ", name);
    gv_probe_json_text(out, text);
    fputs(end, out);
}

static const char *gv_probe_json_status(const struct gv_probe_row *row)
{
    switch (row->status) {
    case GV_PROBE_MEASURED:
        return "measured";
    case GV_PROBE_NOT_REACHED:
        return "not reached";
    case GV_PROBE_NOT_HERE:
        return "not here";
    case GV_PROBE_HUNG:
        return "hung";
    case GV_PROBE_DIED:
        return "died";
    case GV_PROBE_NO_LOAD:
        return "unclear";
    default:
        return "failed";
    }
}

static void gv_probe_json_row(const struct gv_probe_result *result, int mode, int call, FILE *out)
{
    const struct gv_probe_row *row = &result->rows[mode][call];
    const struct gv_probe_subject *subject = &gv_probe_subjects[call];

    fputs("    {", out);
    gv_probe_json_field(out, "mode", gv_probe_mode_names[mode], ", ");
    gv_probe_json_field(out, "beside", subject->beside == GV_PROBE_BESIDE_GPU ? "gpu" : "load",
                        ", ");
    gv_probe_json_field(out, "call", subject->call, ", ");
    gv_probe_json_field(out, "with", subject->what, ", ");
    gv_probe_json_field(out, "cause", subject->cause, ", ");
    gv_probe_json_field(out, "status", gv_probe_json_status(row), "");
    if (row->status > 0)
        fprintf(out, ", \"error\": %" PRId32, row->status);
    if (row->status == GV_PROBE_MEASURED)
        fprintf(out,
                ", \"waits\": %s, \"rounds\": %" PRId32 ", \"waited\": %" PRId32
                ", \"idle_ns\": %" PRId64 ", \"busy_ns\": %" PRId64 ", \"kernel_ns\": %" PRId64,
                gv_probe_waits(row) ? "true" : "false", row->rounds, row->waited, row->idle_ns,
                row->busy_ns, row->kernel_ns);
    fputc('}', out);
}

int gv_probe_print_json(const struct gv_probe_result *result, FILE *out)
{
    bool first = true;

    fputs("{\n  \"format\": \"gpuverify probe 1\",\n  ", out);
    gv_probe_json_field(out, "gpuverify", GV_VERSION, ",\n  ");
    gv_probe_json_field(out, "gpu", result->machine.gpu, ",\n  ");
    gv_probe_json_field(out, "driver", result->machine.driver, ",\n  ");
    fprintf(out,
            "\"driver_version\": %" PRId32 ",\n  \"runtime_version\": %" PRId32
            ",\n  \"unix_s\": %lld,\n  \"kernel_ns\": %" PRId64 ",\n  \"took_ns\": %" PRId64
            ",\n  \"calls\": [\n",
            result->machine.cuda_version, result->machine.runtime_version, (long long)result->when,
            result->kernel_ns, result->took_ns);
    for (int mode = 0; mode < GV_PROBE_MODES; mode++)
        for (int call = 0; call < GV_PROBE_CALLS; call++) {
            fputs(first ? "" : ",\n", out);
            first = false;
            gv_probe_json_row(result, mode, call, out);
        }
    fputs("\n  ]\n}\n", out);
    return ferror(out) ? -1 : 0;
}
