/* cuModuleLoad of a file waits until the context is idle. */
#include "kernels/stalls/images.h"

int main(int argc, char **argv)
{
    struct gv_stage stage;
    char path[] = "/tmp/gpuverify-late-XXXXXX";
    CUmodule module;
    size_t size;

    gv_stage_open(&stage, argc, argv);
    void *cubin = gv_images_cubin(&size);
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, cubin, size) != (ssize_t)size || close(fd) < 0) {
        perror(path);
        return 1;
    }
    gv_stage_busy(&stage);
    TIMED("load", cuModuleLoad, (&module, path));
    unlink(path);
    free(cubin);
    return gv_stage_close(&stage);
}
