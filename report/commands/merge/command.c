/* gpuverify merge: several traces on one time line, in one trace that every command reads. */
#include "report/commands/commands.h"
#include "report/commands/merge/merge.h"
#include "report/commands/output_trace.h"
#include "report/commands/trace_open.h"
#include "report/show/message.h"
#include "report/show/output_file.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"
#include "report/store/trace_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only a job can be made anew. 0; or -errno after a message. */
static int check_is_job(const char *path)
{
    struct gv_trace_probe probe;
    char resolved[PATH_MAX];
    sqlite3 *trace = NULL;
    int64_t merged = 1;

    if (gv_trace_file_probe(path, &probe) != 0 || !realpath(path, resolved))
        return 0; /* not a trace, or there is none: gv_output_trace_open() */
    int error = gv_trace_open_bare(resolved, &trace);
    if (!error)
        error = gv_database_number(trace, "SELECT count(*) FROM meta WHERE key = 'merged'", NULL, 0,
                                   &merged);
    sqlite3_close(trace);
    if (!merged)
        gv_message("%s is a program's trace, not a job: it is left alone", gv_shown_path(path));
    return error ? error : merged ? 0 : -EEXIST;
}

static int merge_into(const struct gv_merge_inputs *inputs, const char *path)
{
    struct gv_output_file output;
    int error = check_is_job(path);

    if (!error)
        error = gv_output_trace_open(&output, path);
    if (error)
        return error;
    error = gv_merge_make(inputs, output.part, inputs->replaced ? path : NULL);
    if (error)
        gv_output_file_drop(&output);
    else
        error = gv_output_trace_close(&output);
    if (!error)
        gv_message_result("%s: %zu trace%s", gv_shown_path(path), inputs->count,
                          inputs->count == 1 ? "" : "s");
    return error;
}

int gv_command_merge(const struct gv_arguments *arguments)
{
    const char *path = gv_arguments_text(arguments, GV_OPTION_merge_output, NULL);
    struct gv_merge_inputs inputs = {0};

    if (!path || !path[0] || gv_output_file_is_stdout(path))
        return gv_arguments_refuse(arguments->command, "missing -o FILE: the trace to write");
    int error = gv_merge_inputs_find(&inputs, (const char *const *)arguments->operands,
                                     (size_t)arguments->operand_count, path);
    if (!error)
        error = merge_into(&inputs, path);
    gv_merge_inputs_free(&inputs);
    return error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}
