/* The simulator's environment variables. docs/internals/simulator.md lists them. */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gv_sim_settings gv_sim_settings;

static uint64_t number(const char *name, uint64_t standard)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return standard;
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*end || *text == '-') {
        fprintf(stderr, "gpuverify simulator: %s: '%s' is not a number\n", name, text);
        return standard;
    }
    return value;
}

static const char *text_of(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

__attribute__((constructor(101))) static void settings_read(void)
{
    struct gv_sim_settings *s = &gv_sim_settings;
    s->kernel_ns = number("GV_SIM_KERNEL_NS", 2000);
    s->jit_ns = number("GV_SIM_JIT_NS", 5000000);
    s->load_ns = number("GV_SIM_LOAD_NS", 100000);
    s->context_ns = number("GV_SIM_CONTEXT_NS", 1000000);
    s->limit_ns = number("GV_SIM_LIMIT_NS", 3000000);
    s->pin_ns_per_mb = number("GV_SIM_PIN_NS_PER_MB", 0);
    s->copy_bytes_per_us = number("GV_SIM_COPY_MB_PER_S", 10000);
    if (!s->copy_bytes_per_us)
        s->copy_bytes_per_us = 1;
    s->pool_bytes_per_us = number("GV_SIM_POOL_MB_PER_S", 93000);
    if (!s->pool_bytes_per_us)
        s->pool_bytes_per_us = 1;
    s->memory_bytes = number("GV_SIM_MEMORY_MB", 16384) << 20;
    s->free_ns_per_mb = number("GV_SIM_FREE_NS_PER_MB", 0);
    s->end_ns = number("GV_SIM_END_NS", 0);
    s->machine = text_of("GV_SIM_MACHINE");
    uint64_t devices = number("GV_SIM_DEVICES", 1);
    s->devices = (int)(devices > GV_SIM_DEVICES_MAX ? GV_SIM_DEVICES_MAX : devices);
    s->driver_version = (int)number("GV_SIM_DRIVER_VERSION", 13000);
    s->no_device = number("GV_SIM_NO_DEVICE", 0) || !s->devices;
    s->reuse_handles = number("GV_SIM_REUSE_HANDLES", 0);
    s->log_path = text_of("GV_SIM_LOG");
    s->failures = text_of("GV_SIM_FAIL");
}

void gv_sim_settings_read_cuda(void)
{
    struct gv_sim_settings *s = &gv_sim_settings;
    /* Set, and empty or invalid: none, as the real driver reads it. */
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    s->all_hidden = visible && (!*visible || !strchr("0123456789GM", *visible));
    const char *mode = text_of("CUDA_MODULE_LOADING");
    s->eager = mode && !strcmp(mode, "EAGER");
}
