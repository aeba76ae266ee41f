/*
 * The linker. PTX goes in, and PTX marked as compiled comes out; of binaries, the last one comes
 * out unchanged. It compiles, but waits for nothing.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "// linked\n"; /* image_ptx.c knows it */

struct gv_sim_link {
    struct gv_sim_object object;
    char *text;
    size_t text_bytes;
    void *binary;
    size_t binary_bytes;
};

CUresult gv_sim_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                                CUlinkState *stateOut)
{
    if (!stateOut || (numOptions && (!options || !optionValues)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!gv_sim_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    *stateOut = gv_sim_object_new(GV_SIM_LINK, sizeof(struct gv_sim_link));
    return *stateOut ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gv_sim_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                             CUlinkState *stateOut)
{
    return gv_sim_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

static CUresult add_text(struct gv_sim_link *link, const char *text, size_t size)
{
    size = strnlen(text, size);
    size_t head = link->text_bytes ? link->text_bytes : strlen(mark);
    char *more = realloc(link->text, head + size + 2);
    if (!more)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!link->text_bytes)
        memcpy(more, mark, head);
    memcpy(more + head, text, size);
    memcpy(more + head + size, "\n", 2);
    link->text = more;
    link->text_bytes = head + size + 1;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                 const char *name, unsigned int numOptions, CUjit_option *options,
                                 void **optionValues)
{
    (void)name;
    if (!gv_sim_is(state, GV_SIM_LINK))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!data || !size || (numOptions && (!options || !optionValues)))
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_link *link = (struct gv_sim_link *)state;
    struct gv_sim_image *image;
    CUresult result = gv_sim_image_read(data, size, &image);
    if (result)
        return result;
    gv_sim_image_free(image);
    if (type == CU_JIT_INPUT_PTX)
        return add_text(link, data, size);
    void *copy = malloc(size);
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    free(link->binary);
    link->binary = memcpy(copy, data, size);
    link->binary_bytes = size;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                              const char *name, unsigned int numOptions, CUjit_option *options,
                              void **optionValues)
{
    return gv_sim_cuLinkAddData_v2(state, type, data, size, name, numOptions, options,
                                   optionValues);
}

CUresult gv_sim_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    if (!gv_sim_is(state, GV_SIM_LINK))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_link *link = (struct gv_sim_link *)state;
    if (!cubinOut || (!link->binary && !link->text))
        return CUDA_ERROR_INVALID_VALUE;
    if (link->text)
        gv_sim_pass(gv_sim_settings.jit_ns);
    *cubinOut = link->text ? (void *)link->text : link->binary;
    if (sizeOut)
        *sizeOut = link->text ? link->text_bytes + 1 : link->binary_bytes;
    return CUDA_SUCCESS;
}

CUresult gv_sim_cuLinkDestroy(CUlinkState state)
{
    if (!gv_sim_is(state, GV_SIM_LINK))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_link *link = (struct gv_sim_link *)state;
    free(link->text);
    free(link->binary);
    gv_sim_object_free(link);
    return CUDA_SUCCESS;
}
