/* The program kills itself while a load in another thread waits for the GPU. */
#include "kernels/stalls/stage.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *kill_soon(void *unused)
{
    (void)unused;
    usleep(400000);
    kill(getpid(), SIGKILL);
    return NULL;
}

int main(int argc, char **argv)
{
    struct gv_stage stage;
    pthread_t killer;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    stage.busy_ms = 2000;
    if (!stage.idle && pthread_create(&killer, NULL, kill_soon, NULL) != 0)
        return 1;
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    if (!stage.idle)
        pthread_join(killer, NULL);
    return gv_stage_close(&stage);
}
