/* Runs before and after each call: not initialised, forked, fail on request, log. Any thread.
 * Not on the hot path unless GV_SIM_LOG or GV_SIM_FAIL is set. */
#include "tests/sim/sim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAILURES_MAX 32

_Atomic unsigned gv_sim_gate = GV_SIM_GATE_INIT;

static const char *const names[GV_SIM_SYMBOLS] = {
#define GV_API_NO_RUNTIME
#define GV_API(symbol, kind, type, parameters, arguments, facts) #symbol,
#include "trace/calls.inc"
#define GV_API(symbol, kind, type, parameters, arguments, facts) #symbol,
#include "tests/sim/other_exports.def"
};

struct failure {
    int symbol;
    unsigned long at;
    CUresult result;
    _Atomic unsigned long seen;
};

static struct failure failures[FAILURES_MAX];
static int failure_count;
static int log_fd = -1;
static _Atomic unsigned char told[GV_SIM_SYMBOLS];

const char *gv_sim_symbol_name(enum gv_sim_symbol symbol)
{
    return names[symbol];
}

static int symbol_of(const char *name, size_t length)
{
    for (int i = 0; i < GV_SIM_SYMBOLS; i++)
        if (strlen(names[i]) == length && !memcmp(names[i], name, length))
            return i;
    return -1;
}

CUresult gv_sim_not_simulated(const char *symbol)
{
    int i = symbol_of(symbol, strlen(symbol));
    if (i < 0 || !atomic_exchange(&told[i], 1))
        fprintf(stderr, "gpuverify simulator: %s is not simulated\n", symbol);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* "cuMemAlloc_v2:3=2,cuLaunchKernel:10=700" */
static void read_failures(const char *text)
{
    while (*text && failure_count < FAILURES_MAX) {
        size_t name = strcspn(text, ":,");
        int symbol = symbol_of(text, name);
        char *end = NULL;
        unsigned long at = 0, result = 0;
        if (text[name] == ':')
            at = strtoul(text + name + 1, &end, 10);
        if (end && *end == '=')
            result = strtoul(end + 1, &end, 10);
        if (symbol < 0 || !at || !result || !end || (*end && *end != ',')) {
            fprintf(stderr, "gpuverify simulator: GV_SIM_FAIL: cannot read '%s'\n", text);
            return;
        }
        failures[failure_count].symbol = symbol;
        failures[failure_count].at = at;
        failures[failure_count++].result = (CUresult)result;
        text = *end ? end + 1 : end;
    }
}

static void forked(void)
{
    gv_sim_trace_forked();
    if (!(atomic_load(&gv_sim_gate) & GV_SIM_GATE_INIT))
        atomic_fetch_or(&gv_sim_gate, GV_SIM_GATE_FORKED);
}

/* After settings.c, which has constructor priority 101. */
__attribute__((constructor(102))) static void gate_open(void)
{
    if (gv_sim_settings.failures) {
        read_failures(gv_sim_settings.failures);
        atomic_fetch_or(&gv_sim_gate, GV_SIM_GATE_FAIL);
    }
    if (gv_sim_settings.log_path) {
        log_fd = open(gv_sim_settings.log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (log_fd < 0)
            perror("gpuverify simulator: GV_SIM_LOG");
        else
            atomic_fetch_or(&gv_sim_gate, GV_SIM_GATE_LOG);
    }
    if (pthread_atfork(NULL, NULL, forked))
        fputs("gpuverify simulator: pthread_atfork failed\n", stderr);
}

static bool needs_no_init(enum gv_sim_symbol symbol)
{
    switch (symbol) {
    case GV_SIM_SYMBOL_cuInit:
    case GV_SIM_SYMBOL_cuGetProcAddress:
    case GV_SIM_SYMBOL_cuGetProcAddress_v2:
    case GV_SIM_SYMBOL_cuGetExportTable:
    case GV_SIM_SYMBOL_cuGetErrorName:
    case GV_SIM_SYMBOL_cuGetErrorString:
    case GV_SIM_SYMBOL_cuDriverGetVersion:
        return true;
    default:
        return false;
    }
}

bool gv_sim_enter(enum gv_sim_symbol symbol, CUresult *result)
{
    unsigned gate = atomic_load(&gv_sim_gate);
    *result = CUDA_SUCCESS;
    if (gate & GV_SIM_GATE_TRACE)
        gv_sim_trace_enter(symbol);
    if ((gate & GV_SIM_GATE_INIT) && !needs_no_init(symbol))
        *result = CUDA_ERROR_NOT_INITIALIZED;
    if ((gate & GV_SIM_GATE_FORKED) && (symbol == GV_SIM_SYMBOL_cuInit || !needs_no_init(symbol)))
        *result = CUDA_ERROR_NOT_INITIALIZED;
    for (int i = 0; (gate & GV_SIM_GATE_FAIL) && i < failure_count; i++)
        if (failures[i].symbol == (int)symbol &&
            atomic_fetch_add(&failures[i].seen, 1) + 1 == failures[i].at)
            *result = failures[i].result;
    if (*result == CUDA_SUCCESS)
        return true;
    gv_sim_leave(symbol, *result);
    return false;
}

void gv_sim_leave(enum gv_sim_symbol symbol, CUresult result)
{
    gv_sim_trace_leave(symbol, result);
    if (log_fd < 0 || !(atomic_load(&gv_sim_gate) & GV_SIM_GATE_LOG))
        return;
    char line[128];
    int length = snprintf(line, sizeof line, "%s %d\n", names[symbol], (int)result);
    if (length > 0 && write(log_fd, line, (size_t)length) < 0)
        atomic_fetch_and(&gv_sim_gate, ~(unsigned)GV_SIM_GATE_LOG);
}
