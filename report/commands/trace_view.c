#include "report/commands/trace_view.h"

#include "report/analyse/jobs/collectives.h"
#include "report/analyse/minutes/minutes.h"
#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/analysis.h"
#include "report/analyse/totals/totals.h"
#include "report/analyse/facts/facts.h"
#include "report/commands/exit.h"
#include "report/commands/merge/merge.h"
#include "report/commands/progress.h"
#include "report/commands/sql_values.h"
#include "report/show/format.h"
#include "report/show/message.h"
#include "report/show/shown_path.h"
#include "report/store/database.h"

#include <errno.h>
#include <stdbool.h>

static int trace_view_totals(sqlite3 *trace)
{
    return gv_totals_ensure(trace, &GV_TOTALS_ALL);
}

/* Finds what the trace does not hold. */
static void trace_view_analyse(const char *path, sqlite3 *trace)
{
    static const struct {
        int (*find)(sqlite3 *trace);
        const char *does, *what;
    } parts[] = {
        {gv_stalls_ensure, "gpuverify: looking for stalls", "find the stalls"},
        {trace_view_totals, "gpuverify: adding up", "compute the totals"},
        {gv_collectives_ensure, "gpuverify: comparing ranks", "compare the ranks"},
        {gv_facts_ensure, "gpuverify: adding up", "find the facts"},
    };

    gv_kernel_names_learn(trace);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        gv_progress_begin(trace, parts[i].does);
        int error = parts[i].find(trace);
        gv_progress_end(trace);
        if (error)
            gv_message("cannot %s of %s: %s", parts[i].what, path, gv_trace_open_why(trace, error));
    }
}

/* The traces that a word stands for, as one that is gone when it is closed. */
static int trace_view_open_several(const char *word, sqlite3 **trace)
{
    struct gv_output_file file;
    int error = gv_merge_temporary(word, &file);

    if (error)
        return error;
    error = gv_trace_open_bare(file.part, trace);
    if (error && error != -ENOTSUP && error != -EBADMSG)
        gv_trace_open_say(word, error);
    if (!error) /* SQLite opens the file with its first statement at the latest */
        error = gv_database_script(*trace, "SELECT count(*) FROM main.sqlite_master", NULL, 0);
    gv_output_file_drop(&file);
    return error;
}

int gv_trace_view_open(const char *path, sqlite3 **trace)
{
    int error = gv_merge_is_several(path) ? trace_view_open_several(path, trace)
                                          : gv_trace_open_settled(path, trace);

    if (!error)
        trace_view_analyse(path, *trace);
    return error;
}

void gv_trace_view_say_older(sqlite3 *trace, const char *path)
{
    struct gv_minutes_older older;
    char until[GV_FORMAT_BYTES];

    if (gv_minutes_older_read(trace, INT64_MIN, INT64_MAX, &older) == 0 && older.minutes > 0)
        gv_message("%s is complete from %s after its start; gpuverify report --section minutes has"
                   " sums of the time before",
                   gv_shown_path(path), gv_format_duration(until, older.to_ns));
}

static int trace_view_read(const char *path, bool says_older,
                           int (*read)(sqlite3 *trace, void *context), void *context)
{
    sqlite3 *trace = NULL;

    if (gv_trace_view_open(path, &trace))
        return GV_EXIT_FAILED;
    if (!says_older)
        gv_trace_view_say_older(trace, path);
    int code = read(trace, context);
    if (code < 0)
        gv_message("cannot read %s: %s", gv_shown_path(path), gv_trace_open_why(trace, code));
    gv_sql_values_close(trace);
    return code < 0 ? GV_EXIT_FAILED : code;
}

int gv_trace_view_read(const char *path, int (*read)(sqlite3 *trace, void *context), void *context)
{
    return trace_view_read(path, false, read, context);
}

int gv_trace_view_read_older(const char *path, int (*read)(sqlite3 *trace, void *context),
                             void *context)
{
    return trace_view_read(path, true, read, context);
}
