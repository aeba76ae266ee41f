/*
 * Runs the threads of a case in every relevant order: depth first, each execution from its
 * beginning, and no further if an earlier execution was in the same state.
 */
#include "tests/model/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK_BYTES  (128u << 10)
#define MOST_CHOICES 4096

enum thread_state { THREAD_READY, THREAD_JOINING, THREAD_ENDED };
enum outcome { OUTCOME_WHOLE, OUTCOME_KNOWN, OUTCOME_FAILED, OUTCOME_RESTART };

/* Why a thread stopped running. */
enum reason { REASON_PAUSE = 1, REASON_ENDED, REASON_FAILED, REASON_RESTART, REASON_KNOWN };

struct thread {
    jmp_buf start; /* at the bottom of its stack */
    jmp_buf here;
    bool made;
    enum thread_state state;
    int joins;
    unsigned explored; /* see engine_pause() */
};

struct choice {
    uint16_t taken;
    uint16_t count;
};

static _Alignas(64) char stacks[MODEL_THREADS][STACK_BYTES];
static struct thread threads[MODEL_THREADS];
static ucontext_t maker;
static jmp_buf scheduler;
static int running = -1;

static const struct model_case *current;
static struct choice choices[MOST_CHOICES];
static unsigned choices_made, choices_planned;
static bool tracing;
static char failure[512];

static _Noreturn void give_back(enum reason reason)
{
    _longjmp(scheduler, reason);
}

/* ---- choices ---- */

unsigned engine_choose(unsigned count)
{
    if (count == 0)
        give_back(REASON_KNOWN);
    if (count == 1)
        return 0;
    if (choices_made == choices_planned) {
        if (choices_planned == MOST_CHOICES)
            engine_fail("more than %u choices in one execution", MOST_CHOICES);
        choices[choices_planned++] = (struct choice){.count = (uint16_t)count};
    }
    if (choices[choices_made].count != count)
        engine_fail("the case is not deterministic: %u choices where there were %u", count,
                    choices[choices_made].count);
    return choices[choices_made++].taken;
}

static bool next_choices(void)
{
    while (choices_planned > 0) {
        struct choice *last = &choices[choices_planned - 1];

        if (++last->taken < last->count)
            return true;
        choices_planned--;
    }
    return false;
}

/* ---- known states ---- */

static uint64_t *known;
static size_t known_room, known_count;

static bool add_known(uint64_t state)
{
    size_t at = state & (known_room - 1);

    for (; known[at]; at = (at + 1) & (known_room - 1))
        if (known[at] == state)
            return false;
    known[at] = state;
    known_count++;
    return true;
}

static void forget_known(void)
{
    free(known);
    known_room = 1 << 12;
    known_count = 0;
    known = calloc(known_room, sizeof *known);
    if (!known)
        abort();
}

static void make_room(void)
{
    uint64_t *old = known;
    size_t old_room = known_room;

    if (known_count * 2 < known_room)
        return;
    known_room *= 4;
    known_count = 0;
    known = calloc(known_room, sizeof *known);
    if (!known)
        abort();
    for (size_t i = 0; i < old_room; i++)
        if (old[i])
            add_known(old[i]);
    free(old);
}

static bool is_new_state(void)
{
    uint64_t state = memory_fingerprint();

    for (int i = 0; i < MODEL_THREADS; i++) {
        state ^= (uint64_t)threads[i].state + memory_explored(i, threads[i].explored);
        state = state * UINT64_C(0x9e3779b97f4a7c15) + (state >> 29);
    }
    make_room();
    return add_known(state | 1);
}

/* ---- threads ---- */

int model_running(void)
{
    return running;
}

bool engine_is_tracing(void)
{
    return tracing;
}

bool engine_is_stack(const void *address)
{
    const char *at = address;

    return at >= stacks[0] && at < stacks[0] + sizeof stacks;
}

const char *engine_thread_name(int thread)
{
    return thread < 0 ? "start" : current->threads[thread].name;
}

static void bottom(void)
{
    /* Left only by _longjmp(), and entered again for each execution. */
    if (_setjmp(threads[running].start) == 0)
        give_back(REASON_PAUSE);
    current->threads[running].run();
    give_back(REASON_ENDED);
}

static void make_thread(int index)
{
    threads[index].made = true;
    if (getcontext(&maker) < 0)
        abort();
    maker.uc_stack.ss_sp = stacks[index];
    maker.uc_stack.ss_size = STACK_BYTES;
    maker.uc_link = NULL;
    makecontext(&maker, bottom, 0);
    running = index;
    if (_setjmp(scheduler) == 0)
        setcontext(&maker);
    running = -1;
}

static enum reason resume(int index, jmp_buf place)
{
    int reason;

    running = index;
    reason = _setjmp(scheduler);
    if (reason == 0)
        _longjmp(place, 1);
    running = -1;
    return (enum reason)reason;
}

unsigned engine_pause(void)
{
    unsigned explored;

    if (_setjmp(threads[running].here) == 0)
        give_back(REASON_PAUSE);
    explored = threads[running].explored;
    threads[running].explored = 0;
    return explored;
}

void engine_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    give_back(REASON_FAILED);
}

void engine_restart(void)
{
    give_back(REASON_RESTART);
}

void model_end(void)
{
    give_back(REASON_ENDED);
}

void model_claim(bool holds, const char *what)
{
    if (!holds)
        engine_fail("%s", what);
}

void model_join(int thread)
{
    if (threads[thread].state != THREAD_ENDED) {
        threads[running].state = THREAD_JOINING;
        threads[running].joins = thread;
        engine_pause();
    }
    memory_join(thread);
}

/* ---- one execution ---- */

static enum outcome run_thread(int index, jmp_buf place)
{
    enum reason reason = resume(index, place);

    if (reason == REASON_ENDED)
        threads[index].state = THREAD_ENDED;
    if (reason == REASON_FAILED)
        return OUTCOME_FAILED;
    if (reason == REASON_KNOWN)
        return OUTCOME_KNOWN;
    return reason == REASON_RESTART ? OUTCOME_RESTART : OUTCOME_WHOLE;
}

/* Runs each thread up to its first access that can read what others store. */
static enum outcome start_threads(int count)
{
    enum outcome outcome = OUTCOME_WHOLE;

    for (int i = 0; i < count; i++) {
        if (!threads[i].made)
            make_thread(i);
        threads[i].state = THREAD_READY;
        threads[i].explored = 0;
    }
    for (int i = 0; i < count && outcome == OUTCOME_WHOLE; i++)
        outcome = run_thread(i, threads[i].start);
    return outcome;
}

/*
 * Chooses the next thread. First it tries what the thread does next, before the others continue.
 * Then they continue, and the thread needs to read only what they have stored meanwhile.
 */
static enum outcome run_some(const int *ready, unsigned count)
{
    int able[MODEL_THREADS];
    unsigned able_count = 0, chosen;

    for (unsigned i = 0; i < count; i++)
        if (memory_has_news(ready[i], threads[ready[i]].explored))
            able[able_count++] = ready[i];
    if (able_count == 0)
        return OUTCOME_KNOWN;
    chosen = engine_choose(able_count);
    for (unsigned i = 0; i < chosen; i++)
        threads[able[i]].explored = memory_messages();
    return run_thread(able[chosen], threads[able[chosen]].here);
}

static bool can_run(int index)
{
    struct thread *thread = &threads[index];

    if (thread->state == THREAD_JOINING && threads[thread->joins].state == THREAD_ENDED)
        thread->state = THREAD_READY;
    return thread->state == THREAD_READY && memory_has_news(index, 0);
}

static enum outcome run_threads(void)
{
    enum outcome outcome;
    int count = 0;

    while (count < MODEL_THREADS && current->threads[count].name)
        count++;
    outcome = start_threads(count);
    while (outcome == OUTCOME_WHOLE) {
        int ready[MODEL_THREADS];
        unsigned ready_count = 0;
        bool all_ended = true;

        for (int i = 0; i < count; i++) {
            if (can_run(i))
                ready[ready_count++] = i;
            all_ended = all_ended && threads[i].state == THREAD_ENDED;
        }
        if (all_ended)
            return OUTCOME_WHOLE;
        if (ready_count == 0) {
            snprintf(failure, sizeof failure, "threads wait for ever");
            return OUTCOME_FAILED;
        }
        if (!tracing && choices_made == choices_planned && !is_new_state())
            return OUTCOME_KNOWN;
        outcome = run_some(ready, ready_count);
    }
    return outcome;
}

static enum outcome run_end(void)
{
    int reason = _setjmp(scheduler);

    if (reason == 0) {
        memory_settle();
        if (current->end)
            current->end();
        return OUTCOME_WHOLE;
    }
    return OUTCOME_FAILED;
}

static enum outcome run_once(void)
{
    enum outcome outcome;

    choices_made = 0;
    memory_reset();
    hooks_reset();
    if (current->begin)
        current->begin();
    outcome = run_threads();
    return outcome == OUTCOME_WHOLE ? run_end() : outcome;
}

/* ---- all executions ---- */

static void explain_failure(bool explain)
{
    printf("%s: %s\n", current->name, failure);
    if (!explain)
        return;
    tracing = true;
    choices_planned = choices_made; /* the same choices once more */
    run_once();
    tracing = false;
}

static bool is_as_it_should_be(enum outcome outcome, bool explain)
{
    bool holds = outcome != OUTCOME_FAILED;

    if (current->fails && !holds && strstr(failure, current->fails))
        return true;
    if (current->fails && holds)
        snprintf(failure, sizeof failure, "does not fail");
    else if (holds && current->after && !current->after())
        snprintf(failure, sizeof failure, "other outcomes than there should be");
    else if (holds)
        return true;
    explain_failure(explain && !holds);
    return false;
}

bool engine_check(const struct model_case *one, uint64_t most_executions, bool explain,
                  struct model_counts *counts)
{
    enum outcome outcome;
    bool holds;

    current = one;
    memory_forget();
    one->prepare();
    forget_known();
    choices_planned = 0;
    *counts = (struct model_counts){0};
    do {
        outcome = run_once();
        counts->executions++;
        counts->states = known_count;
        if (outcome == OUTCOME_RESTART) {
            forget_known();
            choices_planned = 0;
        }
        if (counts->executions > most_executions) {
            snprintf(failure, sizeof failure, "the case is too large");
            outcome = OUTCOME_FAILED;
            explain = false;
        }
    } while (outcome == OUTCOME_RESTART || (outcome != OUTCOME_FAILED && next_choices()));
    holds = is_as_it_should_be(outcome, explain);
    memory_reset();
    return holds;
}
