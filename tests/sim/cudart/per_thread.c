/* gv_rt_<symbol>_ptsz and _ptds: jumps to gv_rt_<symbol>, whatever the parameters are. */
#if defined(__x86_64__)
#define JUMP "jmp "
#elif defined(__aarch64__)
#define JUMP "b "
#else
#error "no jump instruction known for this processor"
#endif

#define GV_SIM_PER_THREAD(symbol, plain)                                                           \
    __asm__(".text\n.p2align 4\n.globl gv_rt_" #symbol "\n.hidden gv_rt_" #symbol "\n"             \
            ".hidden gv_rt_" #plain "\n.type gv_rt_" #symbol ", %function\n"                       \
            "gv_rt_" #symbol ":\n\t" JUMP "gv_rt_" #plain "\n"                                     \
            ".size gv_rt_" #symbol ", . - gv_rt_" #symbol "\n");
#include "tests/sim/runtime_per_thread.def"
