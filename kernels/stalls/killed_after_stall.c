/*
 * The program is killed just after a load waited, so CUPTI's record of the kernel is lost. It uses
 * the bare system call, which is as unexpected as another process's signal.
 */
#include "kernels/stalls/stage.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct gv_stage stage;
    CUmodule module;

    gv_stage_open(&stage, argc, argv);
    CHECK(cuModuleLoadData(&module, gv_ptx_second)); /* later loads need no compilation */
    CHECK(cuModuleUnload(module));
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    fflush(stdout);
    if (!stage.idle)
        syscall(SYS_kill, getpid(), SIGKILL);
    return gv_stage_close(&stage);
}
