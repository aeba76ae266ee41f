/* What the probe measured, for programs. docs/blocking-calls.md says what the fields are. */
#include "report/json.h"
#include "report/probe.h"

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

static void gv_probe_json_text(struct gv_json *json, const char *key, const char *text)
{
    gv_json_key(json, key);
    gv_json_text(json, text);
}

static void gv_probe_json_number(struct gv_json *json, const char *key, int64_t number)
{
    gv_json_key(json, key);
    gv_json_number(json, number);
}

static void gv_probe_json_row(struct gv_json *json, const struct gv_probe_result *result, int mode,
                              int call)
{
    const struct gv_probe_row *row = &result->rows[mode][call];
    const struct gv_probe_subject *subject = &gv_probe_subjects[call];

    gv_json_open(json, '{');
    gv_probe_json_text(json, "mode", gv_probe_mode_names[mode]);
    gv_probe_json_text(json, "beside", subject->beside == GV_PROBE_BESIDE_GPU ? "gpu" : "load");
    gv_probe_json_text(json, "call", subject->call);
    gv_probe_json_text(json, "with", subject->what);
    gv_probe_json_text(json, "cause", subject->cause);
    gv_probe_json_text(json, "status", gv_probe_json_status(row));
    if (row->status > 0)
        gv_probe_json_number(json, "error", row->status);
    if (row->status == GV_PROBE_MEASURED) {
        gv_json_key(json, "waits");
        gv_json_bool(json, gv_probe_waits(row));
        gv_probe_json_number(json, "rounds", row->rounds);
        gv_probe_json_number(json, "waited", row->waited);
        gv_probe_json_number(json, "idle_ns", row->idle_ns);
        gv_probe_json_number(json, "busy_ns", row->busy_ns);
        gv_probe_json_number(json, "kernel_ns", row->kernel_ns);
    }
    gv_json_close(json, '}');
}

int gv_probe_print_json(const struct gv_probe_result *result, FILE *out)
{
    struct gv_json json;

    gv_json_begin(&json, out);
    gv_json_open(&json, '{');
    gv_probe_json_text(&json, "format", "gpuverify probe 1");
    gv_probe_json_text(&json, "gpuverify", GV_VERSION);
    gv_probe_json_text(&json, "gpu", result->machine.gpu);
    gv_probe_json_text(&json, "driver", result->machine.driver);
    gv_probe_json_number(&json, "driver_version", result->machine.cuda_version);
    gv_probe_json_number(&json, "runtime_version", result->machine.runtime_version);
    gv_probe_json_number(&json, "unix_s", (int64_t)result->when);
    gv_probe_json_number(&json, "kernel_ns", result->kernel_ns);
    gv_probe_json_number(&json, "took_ns", result->took_ns);
    gv_json_key(&json, "calls");
    gv_json_open(&json, '[');
    for (int mode = 0; mode < GV_PROBE_MODES; mode++)
        for (int call = 0; call < GV_PROBE_CALLS; call++)
            gv_probe_json_row(&json, result, mode, call);
    gv_json_close(&json, ']');
    gv_json_close(&json, '}');
    gv_json_end(&json);
    return ferror(out) ? -1 : 0;
}
