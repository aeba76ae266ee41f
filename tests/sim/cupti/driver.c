/* The simulated driver, found as the real library finds the real one; and its calls' numbers. */
#include "tests/sim/cupti/cupti_sim.h"

#include <cupti_driver_cbid.h>
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* In the order of enum gv_sim_symbol. */
static const struct {
    const char *name;
    uint16_t cbid;
} calls[] = {
#define GV_API_NO_RUNTIME
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    {#symbol, CUPTI_DRIVER_TRACE_CBID_##symbol},
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts)                                   \
    {#symbol, CUPTI_DRIVER_TRACE_CBID_##symbol},
#include "tests/sim/other_exports.def"
};
#define CALLS (sizeof calls / sizeof calls[0])

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct gv_sim_tracing *driver;
static bool is_second;

CUpti_CallbackId gv_cupti_cbid(unsigned symbol)
{
    return symbol < CALLS ? calls[symbol].cbid : CUPTI_DRIVER_TRACE_CBID_INVALID;
}

const char *gv_cupti_cbid_name(CUpti_CallbackId cbid)
{
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].cbid == cbid)
            return calls[i].name;
    return NULL;
}

static void find(void)
{
    CUresult (*ask)(const void **, const CUuuid *);
    const struct gv_sim_tracing *found;
    CUuuid id;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return;
    ask = (CUresult(*)(const void **, const CUuuid *))dlsym(library, "cuGetExportTable");
    memcpy(&id, GV_SIM_TRACING_ID, sizeof id);
    if (!ask || ask((const void **)&found, &id) || found->size_bytes != sizeof *found ||
        found->symbols != CALLS) {
        gv_cupti_complain("the driver is not the simulated one, or of another build");
        return;
    }
    is_second = !found->attach(&gv_cupti_tracer);
    if (!is_second)
        driver = found;
}

const struct gv_sim_tracing *gv_cupti_driver(void)
{
    pthread_once(&once, find);
    return driver;
}

CUptiResult gv_cupti_no_driver(void)
{
    if (gv_cupti_driver())
        return CUPTI_SUCCESS;
    return is_second ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_ERROR_NOT_INITIALIZED;
}
