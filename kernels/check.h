/* CHECK(call): makes a driver call. If it fails, prints what failed and ends the program. */
#ifndef GV_KERNELS_CHECK_H
#define GV_KERNELS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) gv_check((int)(call), #call, __FILE__, __LINE__)

static inline void gv_check(int result, const char *call, const char *file, int line)
{
    if (!result)
        return;
    fprintf(stderr, "%s:%d: %s returned %d\n", file, line, call, result);
    exit(1);
}

#endif
