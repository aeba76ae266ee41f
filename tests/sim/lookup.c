/*
 * cuGetProcAddress: the newest export of a name that the asked-for CUDA version knows, as the real
 * driver answers. Always the address of an export.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* The exports' own addresses, not through any other library's symbol of the same name. */
#define GV_SIM_VERSION(symbol, name, version, per_thread)                                          \
    extern __attribute__((visibility("protected"))) __typeof__(symbol) symbol;
#include "tests/sim/export_versions.def"

struct version {
    const char *name;
    void *address;
    int since;
    bool per_thread;
};

static const struct version versions[] = {
#define GV_SIM_VERSION(symbol, name, version, per_thread)                                          \
    {#name, (void *)symbol, version, per_thread},
#include "tests/sim/export_versions.def"
};

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct version *)row)->name);
}

/* *known says whether any version of the name exists. */
static void *newest(const char *name, int asked, bool per_thread, bool *known)
{
    size_t count = sizeof versions / sizeof *versions;
    const struct version *row = bsearch(name, versions, count, sizeof *versions, by_name);
    const struct version *best = NULL;
    *known = row != NULL;
    if (!row)
        return NULL;
    while (row > versions && !strcmp(row[-1].name, name))
        row--;
    for (; row < versions + count && !strcmp(row->name, name); row++)
        if (row->per_thread == per_thread && row->since <= asked &&
            row->since <= gv_sim_settings.driver_version && (!best || row->since > best->since))
            best = row;
    return best ? best->address : NULL;
}

CUresult gv_sim_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    if (!symbol || !pfn || flags > 2)
        return CUDA_ERROR_INVALID_VALUE;
    bool known;
    void *found = NULL;
    if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        found = newest(symbol, cudaVersion, true, &known);
    if (!found)
        found = newest(symbol, cudaVersion, false, &known);
    *pfn = found;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    if (!found)
        status = known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (symbolStatus)
        *symbolStatus = status;
    return found || symbolStatus ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult gv_sim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    return gv_sim_cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}

/* The real driver's private tables are nobody's business. */
CUresult gv_sim_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    *ppExportTable = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
