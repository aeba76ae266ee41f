/* Makes calls before, during and after a time without free file descriptors. */
#include "e2e.h"

#include <sys/resource.h>

int main(void)
{
    struct rlimit limit, none;
    struct e2e_gpu gpu;

    e2e_open(&gpu);
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 3;
    OK(setrlimit(RLIMIT_NOFILE, &none));
    e2e_tick(&gpu, 40000);
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    e2e_tick(&gpu, 40000);
    puts("done");
    return 0;
}
