/* The other file of lazy_translation_unit: two unused kernels. */
#include "kernels/stalls/translation_unit.h"

#define OTHER_PTX GV_PTX_HEAD GV_PTX_EMPTY_AS("other_first") GV_PTX_EMPTY_AS("other_second")

const char gv_other_ptx[] = OTHER_PTX;

GV_TRANSLATION_UNIT(OTHER_PTX);

void gv_other_first(cudaStream_t stream)
{
    gv_unit_launch((const void *)(uintptr_t)gv_other_first, stream, NULL);
}

void gv_other_second(cudaStream_t stream)
{
    gv_unit_launch((const void *)(uintptr_t)gv_other_second, stream, NULL);
}

static void gv_unit_kernels(void **handle)
{
    GV_TRANSLATION_UNIT_KERNEL((uintptr_t)gv_other_first, "other_first");
    GV_TRANSLATION_UNIT_KERNEL((uintptr_t)gv_other_second, "other_second");
}
