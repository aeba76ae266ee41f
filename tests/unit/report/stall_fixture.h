/*
 * Builds a trace call by call, for tests of the analysis. Times are in microseconds. It has two
 * processes: one with the GPU side, one with only the calls; `fixture_mode` selects the process of
 * the following calls.
 */
#ifndef GV_TESTS_STALL_FIXTURE_H
#define GV_TESTS_STALL_FIXTURE_H

#include "tests/unit/report/cmocka_all.h"

#include <sqlite3.h>

/* BOTH: as MEASURED, but some stalls are inferred. */
enum fixture_mode { MEASURED, INFERRED, BOTH };

/* A call's fields besides name and time; 0: none. */
struct facts {
    int thread;  /* 1 or 2; 0 is 1 */
    int stream;  /* STREAM_... */
    int context; /* 1 or 2; 0 is 1 */
    int kernel;  /* KERNEL_... */
    int64_t bytes;
    int64_t object;
    int result;
};

enum {
    STREAM_A = 1, /* created, in context 1 */
    STREAM_B,
    STREAM_LEGACY,
    STREAM_OTHER, /* created, in context 2, on device 1 */
};

enum {
    KERNEL_SPIN = 1, /* of a module, so its code comes with the load */
    KERNEL_LAZY,     /* of a library */
    KERNEL_DEEP,     /* of a module; needs local memory */
};

extern sqlite3 *fixture_trace;

int fixture_setup(void **state);
int fixture_teardown(void **state);
void fixture_mode(enum fixture_mode mode);
/* Both processes had this environment variable. */
void fixture_variable(const char *name, const char *value);
void fixture_sql(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds a call; returns its id. */
int call_of(const char *name, int64_t start_us, int64_t us, struct facts facts);
#define CALL(name, start_us, us, ...) call_of(name, start_us, us, (struct facts){__VA_ARGS__})
/* Adds its GPU operation, only in the measured process; returns its id. */
int ran(int call, int stream, int kernel, int64_t start_us, int64_t us);
/* A launch of a few microseconds, and its kernel. */
int launched(int64_t at_us, int stream, int kernel, int64_t start_us, int64_t us);
/* A host function, which ran; returns the id of its call. */
int hosted(int64_t at_us, int stream, int64_t start_us, int64_t us);
/* In a call: code came onto the GPU; a load; the driver compiled. */
void came(int call);
void loaded(int call, const char *image, int64_t hash);
void compiled(int call, int64_t start_us, int64_t us);

void analyse_stalls(void);
/* Analyses, and compares the stalls: one line each, "call cause jit+wait+work", then if known
 * "for <op>", "by <call>", "<what another process did> of <its name>", "drained <count>", "presumed
 * <call>", "host <call that launched it>", and "expected" at the end. Times are rounded to 10 us.
 */
void expect(const char *lines);

#endif
