/*
 * Threads with the smallest stacks, and with stacks of the program's own: with guard pages below,
 * in the middle, and above the frame that calls; and programs that forbid a part of their stack.
 */
#include "strange.h"

#include <limits.h>
#include <pthread.h>

static unsigned hole; /* pages between the calls and the end of the stack */

__attribute__((noinline)) static void above_a_hole(void)
{
    unsigned char here[4 * 4096] __attribute__((aligned(4096)));

    here[0] = 1;
    OK(mprotect(here + hole * PAGE, PAGE, PROT_NONE));
    strange_deeper(1);
    OK(mprotect(here + hole * PAGE, PAGE, PROT_READ | PROT_WRITE));
}

static void *work(void *is_small)
{
    OK(cuCtxSetCurrent(strange_gpu.context));
    strange_deeper(is_small ? 0 : 2);
    if (!is_small)
        above_a_hole();
    return NULL;
}

static void run(void *stack, size_t bytes, void *is_small)
{
    pthread_attr_t attributes;
    pthread_t thread;

    OK(pthread_attr_init(&attributes));
    if (stack)
        OK(pthread_attr_setstack(&attributes, stack, bytes));
    else
        OK(pthread_attr_setstacksize(&attributes, bytes));
    OK(pthread_create(&thread, &attributes, work, is_small));
    OK(pthread_join(thread, NULL));
    OK(pthread_attr_destroy(&attributes));
}

static void strange_run(void)
{
    size_t least = ((size_t)PTHREAD_STACK_MIN + PAGE - 1) / PAGE;
    static int is_small;

    for (int i = 0; i < 8; i++) {
        size_t pages = 2 * least + 16 + strange_below(16);
        unsigned char *stack = strange_pages(pages, 0);

        hole = strange_below(4);
        run(NULL, least * PAGE, &is_small);
        run(strange_pages(least, 0), least * PAGE, &is_small);
        run(malloc(pages * PAGE), pages * PAGE, NULL);
        OK(mprotect(stack + (pages / 4) * PAGE, PAGE, PROT_NONE));
        run(stack, pages * PAGE, NULL);
        above_a_hole();
    }
}
