#include "report/commands/explain/explain.h"

#include "report/analyse/names/stack_text.h"
#include "report/analyse/stalls/in_flight.h"
#include "report/show/format.h"
#include "report/store/database.h"

#include <inttypes.h>

/* Kernels that take this long are rare; a shorter watchdog also reports shorter ones. */
#define GV_HANG_LEAST_NS INT64_C(1000000000)

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

void gv_explain_hang(const struct gv_explain_hang *hang, struct gv_explain_out *to)
{
    struct gv_flight_work work;
    char where[512] = ""; /* the line that launched it; "": no stack was stored */
    int64_t stack = 0;

    if (!to->error)
        to->error = gv_flight_work_read(to->trace, hang->process, &work);
    if (to->error || work.unfinished == 0 || hang->seen_ns - work.start_ns < GV_HANG_LEAST_NS)
        return;
    to->error = gv_database_number(to->trace, "SELECT stack FROM call_stack WHERE call = ?",
                                   &work.call, 1, &stack);
    if (!to->error)
        to->error = gv_stack_text(to->trace, stack, 1, where, sizeof(where));
    explain_hang_kernel(hang, &work, where, to->text);
    gv_explain_end(to, "kernel");
    explain_hang_look(hang, to->text);
    gv_explain_end(to, "look");
}
