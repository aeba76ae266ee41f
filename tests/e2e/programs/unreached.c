/* Says a word. Linked statically, so that no library can be loaded into it. */
#include <stdio.h>

int main(void)
{
    puts("unreached");
    return 0;
}
