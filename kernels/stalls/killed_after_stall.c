/*
 * The program is killed just after a load waited: what CUPTI has of the kernel is lost with it. By
 * the system call, which comes as unexpected as the signal of another process.
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
    CHECK(cuModuleLoadData(&module, gv_ptx_second)); /* compiled from here on */
    CHECK(cuModuleUnload(module));
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoadData, (&module, gv_ptx_second));
    fflush(stdout);
    if (!stage.idle)
        syscall(SYS_kill, getpid(), SIGKILL);
    return gv_stage_close(&stage);
}
