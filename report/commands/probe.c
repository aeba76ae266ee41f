/* gpuverify probe: which calls wait for a busy GPU here. */
#include "report/commands/commands.h"
#include "report/probe/probe.h"
#include "report/show/message.h"
#include "report/show/output_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GV_PROBE_BUSY_NS       50000000
#define GV_PROBE_LEAST_BUSY_NS 20000000
#define GV_PROBE_MOST_BUSY_NS  100000000

static int probe_keep(const struct gv_probe_result *result, const char *json)
{
    char path[PATH_MAX];
    int error = 0;

    if (!json)
        error = gv_probe_store_path(&result->machine, path, sizeof(path));
    else if (snprintf(path, sizeof(path), "%s", json) >= (int)sizeof(path))
        error = -ENAMETOOLONG;
    if (!error)
        error = gv_probe_store_write(result, path);
    if (error)
        gv_message("cannot save it%s%s: %s", json ? " in " : "", json ? json : "",
                   strerror(-error));
    else if (!gv_output_file_is_stdout(path))
        gv_message("saved in %s", path);
    return error;
}

int gv_command_probe(const struct gv_arguments *arguments)
{
    static struct gv_probe_result result;
    int64_t gpu = gv_arguments_number(arguments, GV_OPTION_probe_gpu, 0);
    struct gv_probe_request request = {
        .kernel_ns = gv_arguments_number(arguments, GV_OPTION_probe_busy, GV_PROBE_BUSY_NS),
        .limits = {.start_ms = 30000, .call_ms = 8000, .whole_ms = 58000},
    };

    if (request.kernel_ns < GV_PROBE_LEAST_BUSY_NS || request.kernel_ns > GV_PROBE_MOST_BUSY_NS)
        return gv_arguments_refuse(arguments->command, "--busy must be from 20ms to 100ms");
    if (gpu > INT_MAX)
        return gv_arguments_refuse(arguments->command, "no GPU has that number");
    request.gpu = (int)gpu;
    const char *json = gv_arguments_text(arguments, GV_OPTION_probe_json, NULL);
    bool alone = json && gv_output_file_is_stdout(json);
    if (alone && gv_arguments_has(arguments, GV_OPTION_probe_format))
        return gv_arguments_refuse(arguments->command, "--json - cannot be used with --format");
    if (isatty(STDERR_FILENO))
        gv_message("measuring for about half a minute; the GPU should be idle otherwise");
    if (gv_probe_measure(&request, &result))
        return GV_EXIT_FAILED;
    const char *format = gv_arguments_text(arguments, GV_OPTION_probe_format, "table");
    int error = alone ? 0
                : strcmp(format, "json") == 0
                    ? gv_probe_print_json(&result, stdout)
                    : gv_probe_print(&result, strcmp(format, "markdown") == 0, stdout);
    int unkept = probe_keep(&result, json);
    return error || unkept ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
