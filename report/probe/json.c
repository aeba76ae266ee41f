/* The probe's results as JSON. docs/json/probe.json describes the fields. */
#include "report/probe/probe.h"
#include "report/show/json.h"

#include <errno.h>

static void probe_json_row(struct gv_json *json, const struct gv_probe_result *result, int mode,
                           int call)
{
    const struct gv_probe_row *row = &result->rows[mode][call];
    const struct gv_probe_subject *subject = &gv_probe_subjects[call];
    bool measured = row->status == GV_PROBE_MEASURED;

    gv_json_open(json, NULL, '{');
    gv_json_text(json, "mode", gv_probe_mode_names[mode]);
    gv_json_text(json, "beside", gv_probe_beside_names[subject->beside]);
    gv_json_text(json, "call", subject->call);
    gv_json_text(json, "with", subject->what);
    gv_json_text(json, "cause", subject->cause[0] ? subject->cause : NULL);
    gv_json_text(json, "status",
                 row->status > 0 ? "failed" : gv_probe_status_words[-row->status].key);
    gv_json_known(json, "error", row->status, row->status > 0);
    if (measured)
        gv_json_bool(json, "waits", gv_probe_waits(row));
    else
        gv_json_null(json, "waits");
    gv_json_known(json, "rounds", row->rounds, measured);
    gv_json_known(json, "waited", row->waited, measured);
    gv_json_known(json, "idle_ns", row->idle_ns, measured);
    gv_json_known(json, "busy_ns", row->busy_ns, measured);
    gv_json_known(json, "kernel_ns", row->kernel_ns, measured);
    gv_json_close(json, '}');
}

int gv_probe_print_json(const struct gv_probe_result *result, FILE *out)
{
    struct gv_json json;

    gv_json_begin(&json, out, '{');
    gv_json_text(&json, "format", "gpuverify probe 1");
    gv_json_text(&json, "gpuverify", GV_VERSION);
    gv_json_text(&json, "gpu", result->machine.gpu);
    gv_json_text(&json, "driver", result->machine.driver[0] ? result->machine.driver : NULL);
    gv_json_known(&json, "driver_version", result->machine.cuda_version,
                  result->machine.cuda_version);
    gv_json_known(&json, "runtime_version", result->machine.runtime_version,
                  result->machine.runtime_version);
    gv_json_number(&json, "unix_s", (int64_t)result->when);
    gv_json_number(&json, "kernel_ns", result->kernel_ns);
    gv_json_number(&json, "took_ns", result->took_ns);
    gv_json_open(&json, "calls", '[');
    for (int mode = 0; mode < GV_PROBE_MODES; mode++)
        for (int call = 0; call < GV_PROBE_CALLS; call++)
            probe_json_row(&json, result, mode, call);
    gv_json_close(&json, ']');
    gv_json_end(&json, '}');
    return ferror(out) ? -EIO : 0;
}
