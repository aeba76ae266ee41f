/*
 * cuGetProcAddress: answers as the real driver, with the newest export of a name in the requested
 * CUDA version. Always the address of an export.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* The addresses of our exports, not of another library's symbol with the same name. */
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

/* *known: some version of the name exists. */
static void *newest(const struct version *row, int asked, bool per_thread, bool *known)
{
    const struct version *end = versions + sizeof versions / sizeof *versions, *best = NULL;
    const char *name = row->name;
    for (; row < end && !strcmp(row->name, name); row++) {
        if (row->per_thread != per_thread)
            continue;
        *known = true;
        if (row->since <= asked && row->since <= gv_sim_settings.driver_version &&
            (!best || row->since > best->since))
            best = row;
    }
    return best ? best->address : NULL;
}

static const struct version *first_row(const char *name)
{
    const struct version *row =
        bsearch(name, versions, sizeof versions / sizeof *versions, sizeof *versions, by_name);
    while (row && row > versions && !strcmp(row[-1].name, name))
        row--;
    return row;
}

static CUresult look_up(const char *symbol, void **found, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status)
{
    *found = NULL;
    if (!symbol || flags > 3 || version / 1000 > gv_sim_settings.driver_version / 1000)
        return CUDA_ERROR_INVALID_VALUE;
    const struct version *row = first_row(symbol);
    bool known = false;
    if (row && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        *found = newest(row, version, true, &known);
    if (row && !known) /* a call without a stream has no variant */
        *found = newest(row, version, false, &known);
    *status = *found  ? CU_GET_PROC_ADDRESS_SUCCESS
              : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

/* Succeeds, with NULL, for names that are unknown or too new. */
CUresult gv_sim_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus)
{
    CUdriverProcAddressQueryResult status;
    void *found;
    CUresult result =
        pfn ? look_up(symbol, &found, cudaVersion, flags, &status) : CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *pfn = found;
    if (symbolStatus)
        *symbolStatus = status;
    return CUDA_SUCCESS;
}

/* The older call fails instead, and leaves *pfn alone. */
CUresult gv_sim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    void *found;
    CUresult result =
        pfn ? look_up(symbol, &found, cudaVersion, flags, &status) : CUDA_ERROR_INVALID_VALUE;
    if (!result && !found)
        result = CUDA_ERROR_NOT_FOUND;
    if (!result)
        *pfn = found;
    return result;
}
