#include "report/collect/ingest_idle.h"

#include "report/collect_ingest_idle.inc"
#include "trace/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct gv_ingest_idle {
    struct gv_unwinder *unwinder;
    int64_t spent_ns; /* by unwinding; what a second allows is taken off */
    int64_t looked_ns;
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What this process needs for unwinding. */
static int open_idle(struct gv_ingest *ingest)
{
    struct gv_spool_facts *facts = ingest->idle ? NULL : malloc(sizeof(*facts));
    struct gv_ingest_idle *idle = facts ? calloc(1, sizeof(*idle)) : NULL;

    if (ingest->idle)
        return 0;
    if (idle) {
        gv_spool_reader_facts(ingest->reader, facts);
        idle->unwinder = gv_unwinder_open(facts->pid);
        idle->looked_ns = now_ns();
    }
    free(facts);
    if (!idle || !idle->unwinder) {
        free(idle);
        return -ENOMEM;
    }
    ingest->idle = idle;
    return 0;
}

void gv_ingest_idle_close(struct gv_ingest *ingest)
{
    if (ingest->idle)
        gv_unwinder_close(ingest->idle->unwinder);
    free(ingest->idle);
    ingest->idle = NULL;
}

/* ---- native frames ---- */

/* Of each second. The first stack through a large library takes milliseconds, others microseconds.
 */
#define GV_UNWIND_NS 20000000

static bool has_time(struct gv_ingest_idle *idle)
{
    int64_t now = now_ns();

    idle->spent_ns -= (now - idle->looked_ns) / (1000000000 / GV_UNWIND_NS);
    idle->looked_ns = now;
    if (idle->spent_ns < 0)
        idle->spent_ns = 0;
    return idle->spent_ns < GV_UNWIND_NS;
}

static int store_objects(struct gv_ingest *ingest, const uint64_t *address, size_t count)
{
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        char path[GV_TEXT_REPAIRED_BYTES(PATH_MAX)];
        struct gv_unwind_object object;

        if (!gv_unwinder_object(ingest->idle->unwinder, address[i], &object))
            continue;
        gv_text_repair(path, sizeof(path), object.path, strlen(object.path));
        error = gv_database_run(ingest->database, GV_STATEMENT_OBJECT_ADD_NEW, "iiiitt",
                                ingest->process, (int64_t)object.base, (int64_t)object.low,
                                (int64_t)object.high, path,
                                object.build_id[0] ? object.build_id : NULL);
    }
    return error;
}

int gv_ingest_idle_unwind(struct gv_ingest *ingest, const struct gv_unwind_stack *stack,
                          uint64_t address[GV_UNWIND_FRAMES], size_t *count)
{
    int error = open_idle(ingest);

    *count = 0;
    if (error)
        return error;
    if (!has_time(ingest->idle))
        return gv_database_run(ingest->database, GV_STATEMENT_LOSS_ADD, "itti", ingest->process,
                               "native stack", "no time", (int64_t)1);
    int64_t begin_ns = now_ns();
    if (!ingest->final)
        gv_unwinder_refresh(ingest->idle->unwinder);
    *count = gv_unwinder_walk(ingest->idle->unwinder, stack, address);
    error = store_objects(ingest, address, *count);
    ingest->idle->spent_ns += now_ns() - begin_ns;
    return error;
}

/* ---- samples ---- */

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
