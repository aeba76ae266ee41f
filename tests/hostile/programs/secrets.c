/* For each number on stdin, makes so many calls from above a secret on the stack, and says so. The
 * secret's bytes are nowhere else: each is one more than that of `disguised`. */
#include "tests/e2e/programs/e2e.h"

#include <string.h>

static const char disguised[] = "rdbqds,vnqc,ne,sgd,rs`bj";

__attribute__((noinline)) static void call(void)
{
    volatile char secret[sizeof disguised];

    for (size_t i = 0; i < sizeof disguised; i++)
        secret[i] = disguised[i] ? (char)(disguised[i] + 1) : '\0';
    OK(cuCtxSynchronize());
    memset((char *)secret, 0, sizeof secret);
}

int main(void)
{
    struct e2e_gpu gpu;
    int times;

    e2e_open(&gpu);
    while (scanf("%d", &times) == 1) {
        for (int i = 0; i < times; i++)
            call();
        puts("called");
        fflush(stdout);
    }
    return 0;
}
