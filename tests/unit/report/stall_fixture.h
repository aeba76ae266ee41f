/*
 * A trace made call by call, for what the analysis says of it. Times are in microseconds. There are
 * two processes: in one the GPU's side is seen, in the other only the calls; `fixture_mode` says
 * which one the calls that follow belong to.
 */
#ifndef GV_TESTS_STALL_FIXTURE_H
#define GV_TESTS_STALL_FIXTURE_H

#include "tests/unit/report/cmocka_all.h"

#include <sqlite3.h>
#include <stdbool.h>

/* BOTH: as MEASURED, but some stalls are inferred. */
enum fixture_mode { MEASURED, INFERRED, BOTH };

/* What a call has besides its name and time; 0: nothing. */
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
    KERNEL_SPIN = 1, /* of a module, so that its code comes with the load */
    KERNEL_LAZY,     /* of a library */
    KERNEL_DEEP,     /* of a module; needs local memory */
};

extern sqlite3 *fixture_trace;

int fixture_setup(void **state);
int fixture_teardown(void **state);
void fixture_mode(enum fixture_mode mode);
void fixture_sql(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds a call; its id. */
int call_of(const char *name, int64_t start_us, int64_t us, struct facts facts);
#define CALL(name, start_us, us, ...) call_of(name, start_us, us, (struct facts){__VA_ARGS__})
/* Adds what it put on the GPU, in the measured process only; its id. */
int ran(int call, int stream, int kernel, int64_t start_us, int64_t us);
/* A launch of a few microseconds, and its kernel. */
int launched(int64_t at_us, int stream, int kernel, int64_t start_us, int64_t us);
/* Code came onto the GPU in a call; a load was in it; the driver compiled in it. */
void came(int call);
void loaded(int call, const char *image, int64_t hash);
void compiled(int call, int64_t start_us, int64_t us);

/* Analyses, and compares the stalls: one line each, "call cause jit+wait+work", then what there is
 * of "for <op>", "by <call>", "drained <count>", "presumed <call>"; "expected" at the end. Times
 * are rounded to 10 us. */
void expect(const char *lines);

#endif
