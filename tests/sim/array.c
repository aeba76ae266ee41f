/* CUDA arrays: plain rows. */
#include "tests/sim/sim.h"

#include <stdlib.h>

static size_t element_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

CUresult gv_sim_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!pHandle || !pAllocateArray || !c)
        return c ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
    size_t element = element_bytes(pAllocateArray->Format) * pAllocateArray->NumChannels;
    if (!element || !pAllocateArray->Width)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_array *array = gv_sim_object_new(GV_SIM_ARRAY, sizeof *array);
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    array->description = *pAllocateArray;
    array->row_bytes = element * pAllocateArray->Width;
    array->rows = pAllocateArray->Height ? pAllocateArray->Height : 1;
    array->slices = pAllocateArray->Depth ? pAllocateArray->Depth : 1;
    void *data = NULL;
    CUresult result = gv_sim_memory_make(array->row_bytes * array->rows * array->slices,
                                         GV_SIM_DEVICE, NULL, &data);
    array->data = data;
    if (result)
        gv_sim_object_free(array);
    else
        *pHandle = (CUarray)array;
    return result;
}

CUresult gv_sim_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    if (!pAllocateArray)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR wide = {.Width = pAllocateArray->Width,
                                    .Height = pAllocateArray->Height,
                                    .Format = pAllocateArray->Format,
                                    .NumChannels = pAllocateArray->NumChannels};
    return gv_sim_cuArray3DCreate_v2(pHandle, &wide);
}

CUresult gv_sim_cuArrayDestroy(CUarray hArray)
{
    if (!gv_sim_is(hArray, GV_SIM_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = gv_sim_cuMemFree_v2((CUdeviceptr)((struct gv_sim_array *)hArray)->data);
    if (!result)
        gv_sim_object_free(hArray);
    return result;
}
