/* Prints a word. Linked statically, so nothing can be preloaded. */
#include <stdio.h>

int main(void)
{
    puts("unreached");
    return 0;
}
