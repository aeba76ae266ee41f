#include "report/collect/ingest_idle.h"

#include "report/collect_ingest_idle.inc"

#include <ctype.h>
#include <errno.h>

/* The row of the thread with this number of the system; if it has none yet, -tid. */
static int find_thread(struct gv_ingest *ingest, uint32_t tid, int64_t *row)
{
    uint64_t serial = 0;
    int error = 0;

    *row = 0;
    for (size_t i = 0; i < ingest->thread_count; i++) {
        const struct gv_ingest_thread *thread = &ingest->thread_list[i];
        if (thread->tid == tid && thread->serial > serial &&
            thread->serial < GV_SPOOL_IDLE_THREAD) {
            serial = thread->serial;
            *row = thread->id;
        }
    }
    if (!*row)
        error = gv_database_find(ingest->database, GV_STATEMENT_THREAD_OF_TID, row, "ii",
                                 ingest->process, (int64_t)tid);
    if (!*row)
        *row = -(int64_t)tid;
    return error;
}

int gv_ingest_idle(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                   const char *text)
{
    char state[2] = {isalpha((unsigned char)sample->state) ? sample->state : '\0', '\0'};
    bool first = sample->since_ns == 0;
    int64_t system_call = sample->head.result, delay_ns = (int64_t)sample->delay_ns;
    int64_t span_ns = (int64_t)(sample->at_ns - sample->since_ns), cpu_ns = (int64_t)sample->cpu_ns;
    int64_t thread, stack = 0, other_stack = 0;
    int error = find_thread(ingest, sample->tid, &thread);

    if (!error && sample->stack)
        error = gv_ingest_stack(ingest, sample->stack, &stack);
    if (!error && sample->other_stack)
        error = gv_ingest_stack(ingest, sample->other_stack, &other_stack);
    if (error)
        return error;
    return gv_database_run(ingest->database, GV_STATEMENT_IDLE_SAMPLE_ADD, "izipitpiizzzppt",
                           ingest->process, thread, gv_ingest_time(ingest, sample->at_ns),
                           first ? NULL : &span_ns, (int64_t)sample->about, state[0] ? state : NULL,
                           system_call < 0 ? NULL : &system_call, (int64_t)sample->target,
                           (int64_t)sample->signs, (int64_t)sample->other, stack, other_stack,
                           first ? NULL : &delay_ns, first ? NULL : &cpu_ns, text);
}

int gv_ingest_idle_end(struct gv_ingest *ingest)
{
    sqlite3 *trace = ingest->database->handle;
    int64_t reuses = 0;
    int error = gv_database_script(trace, sql_late_threads, &ingest->process, 1);

    if (!error)
        error = gv_database_number(trace, sql_reuses, &ingest->process, 1, &reuses);
    return error || !reuses ? error
                            : gv_database_script(trace, sql_reused_threads, &ingest->process, 1);
}
