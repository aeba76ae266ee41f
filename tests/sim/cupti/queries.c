/* Queries: versions, error texts, ids, the time. */
#include "tests/sim/cupti/cupti_sim.h"

GV_CUPTI_EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
    GV_CUPTI_ENTER();
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *version = gv_cupti_settings.version ? gv_cupti_settings.version : GV_CUPTI_API;
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    static const struct {
        CUptiResult result;
        const char *text;
    } texts[] = {
#define TEXT(result) {result, #result}
        TEXT(CUPTI_SUCCESS),
        TEXT(CUPTI_ERROR_INVALID_PARAMETER),
        TEXT(CUPTI_ERROR_INVALID_OPERATION),
        TEXT(CUPTI_ERROR_MAX_LIMIT_REACHED),
        TEXT(CUPTI_ERROR_NOT_COMPATIBLE),
        TEXT(CUPTI_ERROR_NOT_INITIALIZED),
        TEXT(CUPTI_ERROR_INVALID_KIND),
        TEXT(CUPTI_ERROR_NOT_SUPPORTED),
        TEXT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
        TEXT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
        TEXT(CUPTI_ERROR_UNKNOWN),
#undef TEXT
    };
    if (!str)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *str = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].result == result)
            *str = texts[i].text;
    return *str ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    GV_CUPTI_ENTER();
    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = gv_cupti_clock_now();
    return CUPTI_SUCCESS;
}

static CUptiResult ids_of(CUcontext context, uint32_t *id, uint32_t *device)
{
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    if (!driver)
        return CUPTI_ERROR_NOT_INITIALIZED;
    bool found =
        context ? driver->context_id(context, id, device) : driver->context(id, device) != NULL;
    return found ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
    GV_CUPTI_ENTER();
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    if (!driver)
        return CUPTI_ERROR_NOT_INITIALIZED;
    uint64_t id = driver->node_id(node);
    if (!nodeId || !id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *nodeId = id;
    return CUPTI_SUCCESS;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
    GV_CUPTI_ENTER();
    uint32_t id;
    return deviceId ? ids_of(context, &id, deviceId) : CUPTI_ERROR_INVALID_PARAMETER;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
    GV_CUPTI_ENTER();
    uint32_t device;
    return contextId ? ids_of(context, contextId, &device) : CUPTI_ERROR_INVALID_PARAMETER;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream,
                                               uint8_t perThreadStream, uint32_t *streamId)
{
    GV_CUPTI_ENTER();
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    (void)context;
    if (!driver || !streamId)
        return driver ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_NOT_INITIALIZED;
    return driver->stream_id(stream, perThreadStream != 0, streamId) ? CUPTI_SUCCESS
                                                                     : CUPTI_ERROR_INVALID_STREAM;
}

GV_CUPTI_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
    GV_CUPTI_ENTER();
    const struct gv_sim_tracing *driver = gv_cupti_driver();
    if (!driver || !pId)
        return driver ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_NOT_INITIALIZED;
    *pId = driver->graph_id(graphExec);
    return *pId ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

GV_CUPTI_EXPORT CUptiResult cuptiFinalize(void)
{
    GV_CUPTI_ENTER();
    if (gv_cupti_no_driver())
        return gv_cupti_no_driver();
    gv_cupti_kinds_forget();
    gv_cupti_callbacks_forget();
    gv_cupti_buffers_forget();
    gv_cupti_clock_set(NULL);
    return CUPTI_SUCCESS;
}
