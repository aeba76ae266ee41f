/* Calls from far down a stack, and from under frames that are larger than a copy. */
#include "strange.h"

__attribute__((noinline)) static void large(unsigned levels)
{
    volatile char some[72 * 1024];

    some[0] = (char)levels;
    strange_deeper(levels);
    some[1] = some[0];
}

static void strange_run(void)
{
    for (int i = 0; i < 4; i++) {
        strange_deeper(strange_below(8000));
        large(strange_below(4));
        strange_deeper(strange_below(4));
    }
}
