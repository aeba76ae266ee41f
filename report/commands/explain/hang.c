#include "report/commands/explain/explain.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/in_flight.h"
#include "report/show/format.h"
#include "report/store/database.h"

#include <inttypes.h>

/* Kernels that take this long are rare; a shorter watchdog also reports shorter ones. */
#define GV_HANG_LEAST_NS INT64_C(1000000000)

/* The line that launched it; "": no stack was stored. */
static int explain_hang_where(sqlite3 *trace, int64_t call, char *out, size_t size)
{
    sqlite3_stmt *row = NULL;
    int64_t stack = 0;
    int result =
        gv_database_ask(trace, "SELECT stack FROM call_stack WHERE call = ?", &call, 1, &row);

    out[0] = '\0';
    if (result == SQLITE_OK && (result = sqlite3_step(row)) == SQLITE_ROW)
        stack = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    if (result != SQLITE_ROW)
        return gv_database_error(trace, result);
    return gv_stack_text(trace, stack, 1, out, size);
}

static void explain_hang_kernel(const struct gv_explain_hang *hang,
                                const struct gv_flight_work *work, const char *where, FILE *text)
{
    char age[GV_FORMAT_BYTES];

    fprintf(text, "%s may never end: launched %.3f s into the run, it had not ended %s later.",
            work->kernel[0] ? work->kernel : "The kernel that the call waits for",
            (double)work->start_ns / 1e9, gv_format_duration(age, hang->seen_ns - work->start_ns));
    if (where[0])
        fprintf(text, " It was launched at " GV_EXPLAIN_NAME ".", where);
    else
        fputs(" Set GPUVERIFY_STACKS=all to record where it was launched.", text);
}

static void explain_hang_look(const struct gv_explain_hang *hang, FILE *text)
{
    if (hang->ended)
        fputs(
            "If it hangs again: cuda-gdb -p PID, then 'info cuda kernels' and 'bt', shows where the"
            " kernel is; gdb -p PID or py-spy dump --pid PID shows where the program waits.",
            text);
    else
        fprintf(text,
                "cuda-gdb -p %" PRId64 ", then 'info cuda kernels' and 'bt', shows where the kernel"
                " is; gdb -p %" PRId64 " or py-spy dump --pid %" PRId64
                " shows where the program waits.",
                hang->pid, hang->pid, hang->pid);
}

int gv_explain_hang(sqlite3 *trace, const struct gv_explain_hang *hang,
                    const struct gv_explain_out *to)
{
    struct gv_flight_work work;
    char where[512];
    int error = gv_flight_work_read(trace, hang->process, &work);

    if (error || work.unfinished == 0 || hang->seen_ns - work.start_ns < GV_HANG_LEAST_NS)
        return error;
    error = explain_hang_where(trace, work.call, where, sizeof(where));
    if (error)
        return error;
    explain_hang_kernel(hang, &work, where, to->text);
    error = gv_explain_end(to, "kernel");
    if (error)
        return error;
    explain_hang_look(hang, to->text);
    return gv_explain_end(to, "look");
}
