/* The probe's results as JSON. docs/json.md describes the fields. */
#include "report/probe/probe.h"
#include "report/show/json.h"

static const char *probe_json_status(const struct gv_probe_row *row)
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

static void probe_json_text(struct gv_json *json, const char *key, const char *text)
{
    gv_json_key(json, key);
    gv_json_text(json, text);
}

static void probe_json_number(struct gv_json *json, const char *key, int64_t number)
{
    gv_json_key(json, key);
    gv_json_number(json, number);
}

/* Null if `known` is 0. */
static void probe_json_known(struct gv_json *json, const char *key, int64_t number, int known)
{
    gv_json_key(json, key);
    if (known)
        gv_json_number(json, number);
    else
        gv_json_null(json);
}

static void probe_json_row(struct gv_json *json, const struct gv_probe_result *result, int mode,
                           int call)
{
    const struct gv_probe_row *row = &result->rows[mode][call];
    const struct gv_probe_subject *subject = &gv_probe_subjects[call];
    int measured = row->status == GV_PROBE_MEASURED;

    gv_json_open(json, '{');
    probe_json_text(json, "mode", gv_probe_mode_names[mode]);
    probe_json_text(json, "beside", subject->beside == GV_PROBE_BESIDE_GPU ? "gpu" : "load");
    probe_json_text(json, "call", subject->call);
    probe_json_text(json, "with", subject->what);
    probe_json_text(json, "cause", subject->cause[0] ? subject->cause : NULL);
    probe_json_text(json, "status", probe_json_status(row));
    probe_json_known(json, "error", row->status, row->status > 0);
    gv_json_key(json, "waits");
    if (measured)
        gv_json_bool(json, gv_probe_waits(row));
    else
        gv_json_null(json);
    probe_json_known(json, "rounds", row->rounds, measured);
    probe_json_known(json, "waited", row->waited, measured);
    probe_json_known(json, "idle_ns", row->idle_ns, measured);
    probe_json_known(json, "busy_ns", row->busy_ns, measured);
    probe_json_known(json, "kernel_ns", row->kernel_ns, measured);
    gv_json_close(json, '}');
}

int gv_probe_print_json(const struct gv_probe_result *result, FILE *out)
{
    struct gv_json json;

    gv_json_begin(&json, out);
    gv_json_open(&json, '{');
    probe_json_text(&json, "format", "gpuverify probe 1");
    probe_json_text(&json, "gpuverify", GV_VERSION);
    probe_json_text(&json, "gpu", result->machine.gpu);
    probe_json_text(&json, "driver", result->machine.driver[0] ? result->machine.driver : NULL);
    probe_json_known(&json, "driver_version", result->machine.cuda_version,
                     result->machine.cuda_version);
    probe_json_known(&json, "runtime_version", result->machine.runtime_version,
                     result->machine.runtime_version);
    probe_json_number(&json, "unix_s", (int64_t)result->when);
    probe_json_number(&json, "kernel_ns", result->kernel_ns);
    probe_json_number(&json, "took_ns", result->took_ns);
    gv_json_key(&json, "calls");
    gv_json_open(&json, '[');
    for (int mode = 0; mode < GV_PROBE_MODES; mode++)
        for (int call = 0; call < GV_PROBE_CALLS; call++)
            probe_json_row(&json, result, mode, call);
    gv_json_close(&json, ']');
    gv_json_close(&json, '}');
    gv_json_end(&json);
    return ferror(out) ? -1 : 0;
}
