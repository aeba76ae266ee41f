/*
 * A model checker for the lock-free parts: it runs a few threads in every order that matters, and
 * gives every load each value that the C memory model lets it have.
 *
 * The code under test is compiled unchanged with -fsanitize=thread, but linked with this instead of
 * ThreadSanitizer: the compiler's calls of __tsan_*() are what the checker sees of plain and atomic
 * accesses, with their memory orders. docs/testing.md says what is modelled.
 *
 * All threads of a case run on one thread of the system, each on a stack of its own. They must be
 * deterministic but for what they read from atomics, and keep no state from one execution to the
 * next; what they store through instrumented code is undone by the checker.
 */
#ifndef GV_TESTS_MODEL_CHECKER_H
#define GV_TESTS_MODEL_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS    3
#define MODEL_NAME_BYTES 64

struct model_thread {
    const char *name; /* NULL: there are no more */
    void (*run)(void);
};

struct model_case {
    const char *name;
    void (*prepare)(void); /* once, before any thread: also declares what is shared */
    void (*begin)(void);   /* before each execution; may be NULL */
    void (*end)(void);     /* after each execution, with memory as it is when all is visible */
    struct model_thread threads[MODEL_THREADS];
    bool (*after)(void); /* once, after all executions: whether they were what they should be */
    const char *fails;   /* the case must fail, saying this */
};

/* Writes what lies at `offset` of a shared range: "segment 1 state". False: a race on it is no
 * failure. */
typedef bool (*model_namer)(size_t offset, char name[MODEL_NAME_BYTES]);

/* Plain accesses to this range are checked for data races. Atomics may be anywhere. */
void model_share(void *start, size_t bytes, model_namer namer);
/* The same memory, mapped once more. */
void model_alias(void *start, size_t bytes, void *original);

/* In a thread or in end(): fails the case unless `holds`. */
void model_claim(bool holds, const char *what);

/* In a thread: waits until another one, by its place in `threads`, has ended. */
void model_join(int thread);

/* In a thread: waits for a store to this atomic, or the one that it accessed last, which it has not
 * seen. Loops that wait must call it. */
void model_wait_for(const _Atomic uint32_t *atomic);
void model_wait(void);

/* In a thread: ends it, from however deep. */
_Noreturn void model_end(void);

/* In a thread: something that is as good as a plain access, say a system call's effect. */
void model_touch(void *start, size_t bytes, bool write);

/* The place in `threads` of the one that runs; -1: none does. */
int model_running(void);

extern const struct model_case *const model_cases[]; /* ends with NULL */

#endif
