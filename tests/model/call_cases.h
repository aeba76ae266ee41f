/* The cases of call_cases.c. */
#ifndef GV_TESTS_MODEL_CALL_CASES_H
#define GV_TESTS_MODEL_CALL_CASES_H

#include "tests/model/checker.h"

extern const struct model_case call_cases_flight, call_cases_same, call_cases_slot,
    call_cases_polls, call_cases_polls_again;

#endif
