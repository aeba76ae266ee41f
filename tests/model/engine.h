/* Shared by the checker's files: engine.c runs threads, memory.c models atomics, watch.c plain
 * memory, and hooks.c has what the compiler makes the code call. */
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

/* True: the case holds in every execution. Otherwise it prints the failure, with its trace if
 * `explain`. */
bool engine_check(const struct model_case *one, uint64_t most_executions, bool explain,
                  struct model_counts *counts);

/* Returns a number below `count`, each of them in some execution, 0 first. For 0, this execution
 * is like an earlier one, and ends. */
unsigned engine_choose(unsigned count);
/* Call it before an access that may read what others store: they may run first. Stores up to the
 * returned number need not be read: other executions read them before the others continue. */
unsigned engine_pause(void);
/* Ends this execution as a failure. */
_Noreturn void engine_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends this execution: what seemed private to a thread is shared, so everything starts again. */
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
    bool weak; /* COMPARE: it may fail spuriously */
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
/* Before each execution: undoes the stores of the last one. */
void memory_reset(void);
/* After the last step of an execution. */
void memory_settle(void);
/* A fingerprint of the execution so far: equal values have equal futures. */
uint64_t memory_fingerprint(void);
/* Forgets everything about a case. */
void memory_forget(void);
/* The number of the last store. */
unsigned memory_messages(void);
/* Whether the thread's next operation can read a store after this number. A waiting one reads
 * only unseen stores. */
bool memory_has_news(int thread, unsigned explored);
/* For a fingerprint: the stores that the thread's next operation need not read. */
uint64_t memory_explored(int thread, unsigned explored);

/* The steps of each thread that this thread has seen. */
const uint16_t *memory_clock(int thread);

/* ---- watch.c ---- */

void watch_access(const void *address, size_t bytes, bool write);
/* Notes an atomic access, with which plain ones may race. */
void watch_atomic(char *address, unsigned bytes, bool write);
/* The address in the first mapping of memory with two mappings. */
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

/* Operations called from there lose half of their order. Or a comparison looks only at the lower
 * half of a word, not at the tag in the upper half. */
struct weakening {
    enum weakened_half half;
    uintptr_t site;
};

extern struct weakening hooks_weakenings[MOST_WEAKENED];
extern size_t hooks_weakening_count;

/* Before each execution. */
void hooks_reset(void);
/* Before an operation: notes it for hooks_print_sites(), and weakens it if asked to. */
void hooks_note(struct operation *operation, const char *location);
void hooks_print_sites(void);
const char *hooks_order_name(int order);
bool hooks_acquires(int order);
bool hooks_releases(int order);
/* The new value of a read-modify-write operation. */
uint64_t hooks_change(const struct operation *operation, uint64_t value);

#endif
