/* Says with gpuverify.h what it does: the example of docs/ranges.md. */
#include "e2e.h"

#include "nvtx/gpuverify.h"

int main(void)
{
    struct e2e_gpu gpu;

    gv_range_push("load the model");
    e2e_open(&gpu);
    gv_range_pop();
    gv_mark("ready");
    gv_range_push("step");
    e2e_spin(&gpu, NULL, 1000000);
    OK(cuCtxSynchronize());
    gv_range_pop();
    return 0;
}
