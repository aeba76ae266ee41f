/* A thread waits inside a load while the program forks a child, which ends at once. */
#include "kernels/stalls/stage.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gv_stage stage;

static void *load(void *unused)
{
    CUmodule module;

    (void)unused;
    CHECK(cuCtxSetCurrent(stage.context));
    gv_stage_enter(&stage);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t loader;
    CUmodule warm;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&warm, gv_ptx_second));
    CHECK(cuModuleUnload(warm));
    gv_stage_busy(&stage);
    if (pthread_create(&loader, NULL, load, NULL) != 0)
        return 1;
    gv_stage_await(&stage, 20000);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) < 0)
        return 1;
    pthread_join(loader, NULL);
    return gv_stage_close(&stage);
}
