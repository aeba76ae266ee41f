/*
 * A model checker for the lock-free parts. It runs a few threads in every relevant order, and gives
 * every load each value that the C memory model allows.
 *
 * The code under test is compiled unchanged with -fsanitize=thread, but linked with this checker
 * instead of ThreadSanitizer. Through the compiler's calls of __tsan_*() the checker sees plain and
 * atomic accesses with their memory orders. docs/internals/testing.md describes the model.
 *
 * All threads of a case run on one system thread, each on its own stack. They must be deterministic
 * except for what they read from atomics, and keep no state between executions. The checker undoes
 * what they store through instrumented code.
 */
#ifndef GV_TESTS_MODEL_CHECKER_H
#define GV_TESTS_MODEL_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS    3
#define MODEL_NAME_BYTES 64

struct model_thread {
    const char *name; /* NULL: the end */
    void (*run)(void);
};

struct model_case {
    const char *name;
    void (*prepare)(void); /* once, before any thread; declares what is shared */
    void (*begin)(void);   /* before each execution; may be NULL */
    void (*end)(void);     /* after each execution, with all stores visible */
    struct model_thread threads[MODEL_THREADS];
    bool (*after)(void); /* once, after all executions: whether they were as expected */
    const char *fails;   /* the case must fail with this message */
};

/* Describes `offset` of a shared range: "segment 1 state". False: a race there is not a failure. */
typedef bool (*model_namer)(size_t offset, char name[MODEL_NAME_BYTES]);

/* Plain accesses to this range are checked for data races. Atomics may be anywhere. */
void model_share(void *start, size_t bytes, model_namer namer);
/* A second mapping of the same memory. */
void model_alias(void *start, size_t bytes, void *original);

/* In a thread or in end(): fails the case unless `holds`. */
void model_claim(bool holds, const char *what);

/* In a thread: waits until another one, by its index in `threads`, has ended. */
void model_join(int thread);

/* In a thread: waits for an unseen store to this atomic, or the last one accessed. Loops that
 * wait must call it. */
void model_wait_for(const _Atomic uint32_t *atomic);
void model_wait(void);

/* In a thread: ends it, from any depth. */
_Noreturn void model_end(void);

/* In a thread: counts as a plain access, such as a system call's effect. */
void model_touch(void *start, size_t bytes, bool write);

/* The index in `threads` of the running thread; -1: none. */
int model_running(void);

extern const struct model_case *const model_cases[]; /* ends with NULL */

#endif
