/* Looks at threads between their calls. */
#include "report/collect/ingest_state.h"

#include "report/collect/running_stack.h"
#include "report/collect_ingest_idle.inc"
#include "trace/mix.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct gv_ingest_idle {
    uint32_t pid;
    struct gv_known running; /* hash of a running thread's frames, its Python stack -> row */
    bool refused;            /* ptrace */
    struct gv_running_stack taken;
};

static int open_idle(struct gv_ingest *ingest)
{
    struct gv_spool_facts *facts = ingest->idle ? NULL : malloc(sizeof(*facts));
    struct gv_ingest_idle *idle = facts ? calloc(1, sizeof(*idle)) : NULL;

    if (ingest->idle)
        return 0;
    if (idle) {
        gv_spool_reader_facts(ingest->reader, facts);
        idle->pid = facts->pid;
    }
    free(facts);
    ingest->idle = idle;
    return idle ? 0 : -ENOMEM;
}

void gv_ingest_idle_close(struct gv_ingest *ingest)
{
    if (ingest->idle)
        gv_known_free(&ingest->idle->running, ingest->database);
    free(ingest->idle);
    ingest->idle = NULL;
}

/* ---- native frames ---- */

static int count_loss(struct gv_ingest *ingest, const char *why)
{
    return gv_database_run(ingest->database, GV_STATEMENT_LOSS_ADD, "itti", ingest->process,
                           "native stack", why, (int64_t)1);
}

/* ---- native frames of running threads ---- */

/* A later look at the thread says nothing of the sample. */
#define GV_RUNNING_LATE_NS 100000000

/* What the thread does in a call is another matter. */
static bool is_in_call(const struct gv_ingest *ingest, uint32_t tid)
{
    struct gv_spool_flight call;

    for (uint32_t i = 0; i < ingest->reader->slots_count; i++)
        if (gv_spool_reader_flight(ingest->reader, i, &call) && call.tid == tid)
            return true;
    return false;
}

/* A stack of the collector's own: these native frames, and the Python frames of the row `python`,
 * if that is not 0. */
static int add_running_stack(struct gv_ingest *ingest, uint32_t generation,
                             struct gv_unwind_chain *chain, int64_t python, int64_t *row)
{
    int error = gv_database_run(ingest->database, GV_STATEMENT_STACK_ADD_OWN, "i", ingest->process);

    *row = gv_database_last_id(ingest->database);
    if (!error && python)
        error =
            gv_database_run(ingest->database, GV_STATEMENT_FRAME_PYTHON_COPY, "ii", python, *row);
    /* The first address is where the thread is. All others are return addresses. */
    chain->address[0]++;
    return error ? error : gv_ingest_stacks_frames(ingest, *row, generation, chain);
}

static int store_running_stack(struct gv_ingest *ingest, int64_t *stack)
{
    struct gv_ingest_idle *idle = ingest->idle;
    struct gv_unwind_chain chain;
    uint32_t generation;
    struct gv_unwinder *unwinder = gv_ingest_stacks_unwinder(ingest, &generation);
    int64_t row;
    int error;

    if (!unwinder)
        return -ENOMEM;
    idle->taken.stack.generation = generation;
    gv_unwinder_walk(unwinder, &idle->taken.stack, &chain);
    /* Python's frames say it already, if it is in the interpreter. */
    if (chain.count == 0 ||
        (*stack && gv_ingest_stacks_is_interpreter(ingest, generation, chain.address[0])))
        return 0;
    struct gv_key key = {
        {gv_mix_bytes(generation, chain.address, chain.count * sizeof(*chain.address)),
         (uint64_t)*stack}};
    error = gv_known_find(&idle->running, ingest->database, &key, &row);
    if (!error && !row) {
        error = add_running_stack(ingest, generation, &chain, *stack, &row);
        if (!error)
            error = gv_known_add(&idle->running, ingest->database, &key, row);
    }
    *stack = row;
    return error;
}

/* Replaces the sample's stack by one with native frames, if it can be had. */
static int take_stack(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                      int64_t *stack)
{
    int error = open_idle(ingest);
    int64_t age_ns = (int64_t)gv_monotonic_ns() - (int64_t)sample->at_ns;

    if (error || ingest->final || ingest->idle->refused || age_ns > GV_RUNNING_LATE_NS ||
        is_in_call(ingest, sample->tid))
        return error;
    if (!gv_unwind_time_is_left(&ingest->unwind_time))
        return count_loss(ingest, "no time");
    int64_t begin_ns = gv_unwind_time_begin();
    error = gv_running_stack_take(ingest->idle->pid, sample->tid, &ingest->idle->taken);
    if (!error)
        error = store_running_stack(ingest, stack);
    gv_unwind_time_end(&ingest->unwind_time, begin_ns);
    if (error == -EPERM) {
        ingest->idle->refused = true;
        return count_loss(ingest, "ptrace refused");
    }
    if (error == -EBUSY)
        return count_loss(ingest, "has a debugger");
    return error == -EAGAIN ? 0 : error;
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
    if (!*row) {
        *row = -(int64_t)tid;
        ingest->late_looks = true;
    }
    return error;
}

int gv_ingest_idle(struct gv_ingest *ingest, const struct gv_record_idle_sample *sample,
                   const char *text)
{
    char state[2] = {isalpha((unsigned char)sample->state) ? sample->state : '\0', '\0'};
    bool first = sample->since_ns == 0;
    int64_t thread, stack = 0, other_stack = 0;
    int error = find_thread(ingest, sample->tid, &thread);

    ingest->looks = true;
    if (!error && sample->stack)
        error = gv_ingest_stack(ingest, sample->stack, &stack);
    if (!error && sample->other_stack)
        error = gv_ingest_stack(ingest, sample->other_stack, &other_stack);
    if (!error && sample->signs & GV_IDLE_WANTS_STACK)
        error = take_stack(ingest, sample, &stack);
    if (error)
        return error;
    error = GV_ADD(ingest->database, idle_sample, .process = ingest->process, .thread = thread,
                   .at_ns = gv_ingest_time(ingest, sample->at_ns),
                   .span_ns = first ? GV_ROW_NULL : (int64_t)(sample->at_ns - sample->since_ns),
                   .about = sample->about, .state = state[0] ? state : NULL,
                   .system_call = gv_row_known(sample->head.result),
                   .target = (int64_t)sample->target, .signs = sample->signs,
                   .pid_or_tid = (int64_t)sample->other, .stack = stack, .other_stack = other_stack,
                   .delay_ns = first ? GV_ROW_NULL : (int64_t)sample->delay_ns,
                   .cpu_ns = first ? GV_ROW_NULL : (int64_t)sample->cpu_ns, .text = text);
    if (error || first || !sample->cpus)
        return error;
    return GV_ADD(ingest->database, idle_sample_cpu,
                  .sample = gv_database_last_id(ingest->database),
                  .process_cpu_ns =
                      (int64_t)((sample->at_ns - sample->since_ns) / 100 * sample->process_cpus),
                  .cpus = sample->cpus);
}

int gv_ingest_idle_end(struct gv_ingest *ingest)
{
    sqlite3 *trace = ingest->database->handle;
    int64_t reuses = 0;
    int error = 0;

    if (ingest->late_looks || ingest->inherited)
        error = gv_database_script(trace, sql_late_threads, &ingest->process, 1);
    if (!error && (ingest->looks || ingest->inherited))
        error = gv_database_number(trace, sql_reuses, &ingest->process, 1, &reuses);
    return error || !reuses ? error
                            : gv_database_script(trace, sql_reused_threads, &ingest->process, 1);
}
