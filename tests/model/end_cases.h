/* The cases of end_cases.c. */
#ifndef GV_TESTS_MODEL_END_CASES_H
#define GV_TESTS_MODEL_END_CASES_H

#include "tests/model/checker.h"

extern const struct model_case end_cases_end, end_cases_exit, end_cases_twice;

#endif
