/*
 * Shared by the programs whose stacks are strange. `PROGRAM FIRST COUNT` calls strange_run() once
 * for each of so many seeds: it makes calls from odd places, which follow from strange_below(). The
 * program stops at the first unexpected result, and prints what does not vary.
 */
#ifndef GV_STRANGE_H
#define GV_STRANGE_H

#include "tests/e2e/programs/e2e.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)

static struct e2e_gpu strange_gpu;
static uint64_t strange_state;
static unsigned long strange_seed, strange_calls;

static inline unsigned strange_below(unsigned most)
{
    strange_state = strange_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(strange_state >> 33) % most;
}

static void strange_run(void);

/* One of a few calls: some fail, some take long, some call the program back. */
__attribute__((noinline)) static void strange_call(void)
{
    CUdeviceptr memory;

    strange_calls++;
    switch (strange_below(5)) {
    case 0:
        OK(cuMemAlloc(&memory, 2u << 20));
        OK(cuMemFree(memory));
        break;
    case 1:
        e2e_fail();
        break;
    case 2:
        OK(cuCtxSynchronize());
        break;
    default:
        e2e_tick(&strange_gpu, 1);
    }
    __asm__ volatile("");
}

/* The compiler keeps each level. */
__attribute__((noinline, unused)) static void strange_deeper(unsigned levels)
{
    volatile char some[64];

    some[0] = (char)levels;
    if (levels)
        strange_deeper(levels - 1);
    else
        strange_call();
    some[1] = some[0];
}

/* Pages below and above it cannot be touched. */
static inline unsigned char *strange_pages(size_t pages, int more)
{
    unsigned char *area = (unsigned char *)mmap(NULL, (pages + 2) * PAGE, PROT_NONE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    REQUIRE(area != MAP_FAILED);
    OK(mprotect(area + PAGE, pages * PAGE, PROT_READ | PROT_WRITE | more));
    return area + PAGE;
}

int main(int count, char **arguments)
{
    unsigned long first = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
    unsigned long seeds = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;

    e2e_open(&strange_gpu);
    for (strange_seed = first; strange_seed < first + seeds; strange_seed++) {
        strange_state = strange_seed;
        strange_calls = 0;
        strange_below(2);
        strange_run();
        printf("%lu: %lu calls, %u\n", strange_seed, strange_calls, strange_below(1000000));
        fflush(stdout);
    }
    return 0;
}

#endif
