/*
 * Functions without unwind tables, and with tables that lie: about the size of the frame, the
 * return address, the registers. Each calls the next.
 */
#include "strange.h"

typedef void (*callback)(unsigned levels);

/* Built without tables. (without_tables.c) */
void without_tables(callback to, unsigned levels);

#if defined(__x86_64__)
#define CALLS  "sub $24, %rsp\nmov %rdi, %rax\nmov %esi, %edi\ncall *%rax\n"
#define LEAVES "add $24, %rsp\nret\n"
#else
#define CALLS  "stp x29, x30, [sp, -32]!\nmov x9, x0\nmov w0, w1\nblr x9\n"
#define LEAVES "ldp x29, x30, [sp], 32\nret\n"
#endif

#define LIAR(name, ...)                                                                            \
    void name(callback to, unsigned levels);                                                       \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"                    \
            ".cfi_startproc\n" __VA_ARGS__ CALLS LEAVES ".cfi_endproc\n.size " #name ", .-" #name  \
            "\n");
#include "liars.def"
#undef LIAR

static void (*const functions[])(callback to, unsigned levels) = {
    without_tables,
#define LIAR(name, ...) name,
#include "liars.def"
#undef LIAR
};

static void again(unsigned levels)
{
    if (levels == 0)
        strange_deeper(strange_below(3));
    else
        functions[strange_below(sizeof functions / sizeof functions[0])](again, levels - 1);
}

static void strange_run(void)
{
    for (int i = 0; i < 40; i++)
        again(1 + strange_below(6));
}
