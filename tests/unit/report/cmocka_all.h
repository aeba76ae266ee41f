/* cmocka, with the headers that it needs before it. */
#ifndef GV_TESTS_CMOCKA_ALL_H
#define GV_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
