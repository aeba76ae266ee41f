/* constructing LIBRARY [init]: opens a library that uses CUDA in its constructor, with CUDA
 * initialised before or not, and then uses it for half a second. */
#include "e2e.h"

#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct e2e_gpu gpu;

    if (argc > 2)
        OK(cuInit(0));
    REQUIRE(argc > 1 && dlopen(argv[1], RTLD_NOW));
    e2e_open(&gpu);
    for (int i = 0; i < 50; i++) {
        e2e_tick(&gpu, 1);
        usleep(10000);
    }
    e2e_fail();
    puts("constructed");
    return 0;
}
