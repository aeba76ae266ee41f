/* EXPECT(condition) for the simulator's own tests: reports a failure and continues. main returns
 * gv_expect_failed(). */
#ifndef GV_TESTS_SIM_EXPECT_H
#define GV_TESTS_SIM_EXPECT_H

#include <stdio.h>

static int gv_failures;

#define EXPECT(condition) gv_expect((condition) != 0, #condition, __FILE__, __LINE__)
#define EXPECT_RESULT(call, wanted)                                                                \
    gv_expect_result((int)(call), (int)(wanted), #call, __FILE__, __LINE__)

static inline void gv_expect(int ok, const char *what, const char *file, int line)
{
    if (ok)
        return;
    printf("%s:%d: not so: %s\n", file, line, what);
    gv_failures++;
}

static inline void gv_expect_result(int result, int wanted, const char *call, const char *file,
                                    int line)
{
    if (result == wanted)
        return;
    printf("%s:%d: %s returned %d, not %d\n", file, line, call, result, wanted);
    gv_failures++;
}

static inline int gv_expect_failed(void)
{
    if (gv_failures)
        printf("%d expectations failed\n", gv_failures);
    return gv_failures != 0;
}

#endif
