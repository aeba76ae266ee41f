/*
 * Code that is made at run time, on a page of its own: it calls back, and that calls CUDA. With and
 * without a frame pointer, with more or less pushed, and with unwind information that is right,
 * wrong, or not there.
 */
#include "strange.h"

#if !defined(__x86_64__)
static void strange_run(void)
{
    strange_deeper(0);
}
#else

#define FUNCTIONS 24

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);

typedef void (*callback)(unsigned levels);

struct function {
    void (*code)(callback to, unsigned levels);
    unsigned char *frame; /* what is registered of it; NULL: nothing */
};

static struct function functions[FUNCTIONS];

static void again(unsigned levels)
{
    if (levels == 0)
        strange_deeper(strange_below(3));
    else
        functions[strange_below(FUNCTIONS)].code(again, levels - 1);
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

/* void f(callback to, unsigned levels) { to(levels); } */
static size_t write_code(unsigned char *start)
{
    unsigned char *at = start;
    unsigned kind = strange_below(4);
    unsigned char room = (unsigned char)(8 + 16 * strange_below(6));

    if (kind & 1)
        at = put(at, "\x55\x48\x89\xe5", 4); /* push %rbp; mov %rsp, %rbp */
    else if (kind & 2)
        at = put(at, "\x55\x48\x31\xed", 4); /* push %rbp; xor %rbp, %rbp */
    if (kind)
        room = (unsigned char)(room + 8);
    at = put(at, "\x48\x83\xec", 3); /* sub $room, %rsp */
    *at++ = room;
    at =
        put(at, "\x48\x89\xf8\x89\xf7\xff\xd0", 7); /* mov %rdi, %rax; mov %esi, %edi; call *%rax */
    at = put(at, "\x48\x83\xc4", 3);
    *at++ = room;
    if (kind)
        *at++ = 0x5d; /* pop %rbp */
    *at++ = 0xc3;
    return (size_t)(at - start);
}

/* Its rules are right only by accident. */
static unsigned char *register_frame(const unsigned char *code, size_t bytes)
{
    static const unsigned char cie[] = {20, 0,    0, 0, 0,    0, 0, 0, 1, 0, 1, 0x78,
                                        16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0};
    unsigned char *frame = calloc(1, 128), *fde = frame + sizeof cie;
    uint32_t length = 36, back = (uint32_t)sizeof cie + 4;
    uint64_t start = (uintptr_t)code, range = bytes;

    REQUIRE(frame);
    memcpy(frame, cie, sizeof cie);
    memcpy(fde, &length, 4);
    memcpy(fde + 4, &back, 4);
    memcpy(fde + 8, &start, 8);
    memcpy(fde + 16, &range, 8);
    fde[24] = 0x0e; /* DW_CFA_def_cfa_offset */
    fde[25] = (unsigned char)(8 * (1 + strange_below(12)));
    __register_frame(frame);
    return frame;
}

static void strange_run(void)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        unsigned char *page = strange_pages(1, PROT_EXEC);
        unsigned char *code = page + (strange_below(2) ? 0 : PAGE - 64);
        size_t bytes = write_code(code);

        functions[i].code = (void (*)(callback, unsigned))(uintptr_t)code;
        if (strange_below(2))
            functions[i].frame = register_frame(code, bytes);
        OK(mprotect(page, PAGE, strange_below(2) ? PROT_EXEC : PROT_READ | PROT_EXEC));
    }
    for (int i = 0; i < 60; i++)
        again(1 + strange_below(20));
    for (int i = 0; i < FUNCTIONS; i++)
        if (functions[i].frame)
            __deregister_frame(functions[i].frame);
    memset(functions, 0, sizeof functions);
}
#endif
