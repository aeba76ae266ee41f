/* A library with an NVTX of its own, as any that includes its headers. */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) void say(void);

void say(void)
{
    nvtxRangePushA("of the library");
    nvtxRangePop();
}
