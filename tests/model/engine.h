/* Between the checker's own files: engine.c runs threads, memory.c is what they see of
 * atomics, watch.c of plain memory, hooks.c what the compiler makes them call. */
#ifndef GV_TESTS_MODEL_ENGINE_H
#define GV_TESTS_MODEL_ENGINE_H

#include "tests/model/checker.h"

#define MOST_LOCATIONS 128
#define MOST_MESSAGES  512

/* ---- engine.c ---- */

struct model_counts {
    uint64_t executions;
    uint64_t states;
};

/* True: the case holds in every execution. Otherwise what failed is printed, with its trace if
 * `explain`. */
bool engine_check(const struct model_case *one, uint64_t most_executions, bool explain,
                  struct model_counts *counts);

/* A number below `count`, each of them in some execution; 0 is tried first. Of none: this execution
 * is like an earlier one, and ends. */
unsigned engine_choose(unsigned count);
/* Before an access that may read what others store: they may run before it. Stores up to the number
 * that it returns need not be read: in other executions they are, before the others go on. */
unsigned engine_pause(void);
/* Ends this execution as a failure. */
_Noreturn void engine_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends this execution: what was taken for one thread's own is shared, all begins anew. */
_Noreturn void engine_restart(void);
bool engine_is_tracing(void);
bool engine_is_stack(const void *address);
const char *engine_thread_name(int thread);

/* ---- memory.c ---- */

enum operation_kind {
    OPERATION_LOAD,
    OPERATION_STORE,
    OPERATION_EXCHANGE,
    OPERATION_ADD,
    OPERATION_SUB,
    OPERATION_AND,
    OPERATION_OR,
    OPERATION_XOR,
    OPERATION_COMPARE,
    OPERATION_FENCE
};

struct operation {
    enum operation_kind kind;
    bool weak; /* COMPARE: it may fail without a reason */
    bool succeeded;
    bool ignores_tag; /* COMPARE: of the upper half */
    unsigned bytes;
    void *address;
    int order; /* __ATOMIC_* */
    int failure_order;
    uint64_t operand;
    uint64_t expected;
    const void *site; /* return address of the call */
};

/* What it read. */
uint64_t memory_perform(struct operation *operation);
void memory_join(int other);
/* Before each execution: undoes what the last one stored. */
void memory_reset(void);
/* After the last step of an execution. */
void memory_settle(void);
/* The execution so far: equal values have equal futures. */
uint64_t memory_fingerprint(void);
/* Forgets all that was learned, of a case. */
void memory_forget(void);
/* The number of the last store. */
unsigned memory_messages(void);
/* Whether the next operation of a thread can read a store beyond this number. One that waits reads
 * only what it has not seen. */
bool memory_has_news(int thread, unsigned explored);
/* For a fingerprint: which stores the next operation of a thread need not read. */
uint64_t memory_explored(int thread, unsigned explored);

/* What a thread has seen of each one's steps. */
const uint16_t *memory_clock(int thread);

/* ---- watch.c ---- */

void watch_access(const void *address, size_t bytes, bool write);
/* An atomic access, which plain ones may race with. */
void watch_atomic(char *address, unsigned bytes, bool write);
/* The address in the first mapping of what is mapped twice. */
char *watch_original(char *address);
/* False: a race there is no failure. */
bool watch_name(char *address, char name[MODEL_NAME_BYTES]);
/* Before a store: the execution's end undoes it. */
void watch_keep(char *address, size_t bytes);
void watch_undo(void);
void watch_forget(void);

/* ---- hooks.c ---- */

enum weakened_half { HALF_ACQUIRE, HALF_RELEASE, HALF_FAILURE, HALF_TAG };

#define MOST_WEAKENED 256

/* Operations called from there lack a half of their order; or a comparison looks at the lower half
 * of a word only, and not at the tag in the upper one. */
struct weakening {
    enum weakened_half half;
    uintptr_t site;
};

extern struct weakening hooks_weakenings[MOST_WEAKENED];
extern size_t hooks_weakening_count;

/* Before each execution. */
void hooks_reset(void);
/* Before an operation is made: notes it for hooks_print_sites(), and weakens it if it is to be. */
void hooks_note(struct operation *operation, const char *location);
void hooks_print_sites(void);
const char *hooks_order_name(int order);
bool hooks_acquires(int order);
bool hooks_releases(int order);
/* What an operation that reads and writes in one step makes of a value. */
uint64_t hooks_change(const struct operation *operation, uint64_t value);

#endif
