/* Queries of addresses; prefetching and advising, which change nothing here. */
#include "tests/sim/sim.h"

static CUresult attribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct gv_sim_range range;
    gv_sim_memory_ask();
    if (!gv_sim_memory_find((uintptr_t)ptr, &range))
        return CUDA_ERROR_INVALID_VALUE;
    bool device = range.memory >= GV_SIM_DEVICE;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = (CUcontext)range.context;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)data = device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = ptr;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (range.memory == GV_SIM_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)ptr;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = range.id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned int *)data = range.memory == GV_SIM_MANAGED;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = range.context ? range.context->device : 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = range.start;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = range.size_bytes;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned int *)data = 1;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned int *)data = 0;
        break;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr ptr)
{
    return data ? attribute(data, which, ptr) : CUDA_ERROR_INVALID_VALUE;
}

/* Unknown memory gives zeros, and is no error here. */
CUresult gv_sim_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                       void **data, CUdeviceptr ptr)
{
    if (!attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < numAttributes; i++) {
        if (!attribute(data[i], attributes[i], ptr))
            continue;
        if (attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT ||
            attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
            attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
            *(void **)data[i] = NULL;
        else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            *(int *)data[i] = -2;
        else
            *(unsigned int *)data[i] = 0;
    }
    return CUDA_SUCCESS;
}
