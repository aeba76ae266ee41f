/* The exports that the table lacks, unless somebody wrote one. No CUDA header is included, so
 * their prototypes do not matter. They fail with a message, once for each call. */
#include <stdatomic.h>
#include <stdio.h>

#ifdef GV_RT_STATIC
#define EXPORT __attribute__((weak, visibility("hidden")))
#else
#define EXPORT __attribute__((weak, visibility("default")))
#endif
#define ERROR_NOT_SUPPORTED 801

#define GV_SIM_EXPORT(symbol)                                                                      \
    EXPORT int symbol(void);                                                                       \
    int symbol(void)                                                                               \
    {                                                                                              \
        static _Atomic int told;                                                                   \
        if (!atomic_exchange(&told, 1))                                                            \
            fputs("gpuverify simulator: " #symbol " is not simulated\n", stderr);                  \
        return ERROR_NOT_SUPPORTED;                                                                \
    }
#include "tests/sim/runtime_exports.def"
