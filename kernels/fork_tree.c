/*
 * A parent that never uses CUDA, with children that do.
 *
 *     fork_tree [CHILDREN [exec]]      default 3
 *
 * With "exec", each child executes this program again instead of continuing in the forked process.
 */
#include <cuda.h>

#include "kernels/check.h"
#include "kernels/ptx.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int use_cuda(int number)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction empty;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, gv_ptx_tour));
    CHECK(cuModuleGetFunction(&empty, module, "empty"));
    for (int i = 0; i <= number; i++)
        CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    return 0;
}

int main(int argc, char **argv)
{
    int children = argc > 1 ? atoi(argv[1]) : 3, failed = 0;
    int again = argc > 2 && !strcmp(argv[2], "exec");
    if (argc > 2 && !strcmp(argv[2], "child"))
        return use_cuda(atoi(argv[1]));
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 1;
        }
        if (!child && again) {
            char number[16];
            snprintf(number, sizeof number, "%d", i);
            execl("/proc/self/exe", argv[0], number, "child", (char *)NULL);
            perror("exec");
            _exit(1);
        }
        if (!child)
            exit(use_cuda(i));
    }
    for (int status; wait(&status) > 0;)
        failed += !WIFEXITED(status) || WEXITSTATUS(status);
    printf("%d children used CUDA, %d failed\n", children, failed);
    return failed != 0;
}
