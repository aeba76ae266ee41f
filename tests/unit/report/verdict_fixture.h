/* Invented facts of a run, and their verdict. */
#ifndef GV_TESTS_VERDICT_FIXTURE_H
#define GV_TESTS_VERDICT_FIXTURE_H

#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/verdict/verdict.h"

#include <stdbool.h>

extern struct gv_run_facts facts;
extern struct gv_verdict verdict;

/* Before each test: a second of a program that keeps the GPU busy. */
int setup(void **state);
/* Sets how long the GPU was busy, in one kernel. */
void set_busy(int64_t ns);
/* Makes the verdict. */
bool is_told(enum gv_verdict_class class);

#endif
