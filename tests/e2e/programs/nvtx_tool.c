/*
 * Another NVTX tool: counts the calls that it gets, and gives out handles and ids of its own. At
 * the end it writes the counts to the file that NVTX_TOOL_COUNTS names. With NVTX_TOOL_REFUSES set,
 * it refuses every module.
 */
#include "trace/nvtx.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define SLOTS  16

EXPORT int InitializeInjectionNvtx2(gv_nvtx_get_table *get_table);

static int modules, pushes, pops, starts, ends, marks, domains, strange;

static int push_a(const char *message)
{
    (void)message;
    return pushes++;
}

static int push_ex(uint64_t domain, const struct gv_nvtx_event *event)
{
    strange += domain != 0xd0;
    if (event->message_type == GV_NVTX_MESSAGE_REGISTERED)
        strange += event->message != (void *)0x5700;
    return pushes++;
}

static int pop(void)
{
    return pops++;
}

static int domain_pop(uint64_t domain)
{
    strange += domain != 0xd0;
    return pops++;
}

static uint64_t start_ex(uint64_t domain, const struct gv_nvtx_event *event)
{
    (void)event;
    strange += domain != 0xd0;
    starts++;
    return 0x1d;
}

static void end(uint64_t domain, uint64_t id)
{
    strange += domain != 0xd0 || id != 0x1d;
    ends++;
}

static void mark_a(const char *message)
{
    (void)message;
    marks++;
}

static uint64_t create_a(const char *name)
{
    (void)name;
    domains++;
    return 0xd0;
}

static uint64_t register_a(uint64_t domain, const char *text)
{
    (void)text;
    strange += domain != 0xd0;
    return 0x5700;
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("NVTX_TOOL_COUNTS");
    FILE *file = path && modules ? fopen(path, "w") : NULL;

    if (!file)
        return;
    fprintf(file, "modules %d pushes %d pops %d starts %d ends %d marks %d domains %d strange %d\n",
            modules, pushes, pops, starts, ends, marks, domains, strange);
    fclose(file);
}

int InitializeInjectionNvtx2(gv_nvtx_get_table *get_table)
{
    const struct gv_nvtx_callbacks *callbacks = get_table(GV_NVTX_TABLE_CALLBACKS);
    gv_nvtx_function ***slots;
    unsigned count;

    if (!callbacks->get_functions(GV_NVTX_CORE, &slots, &count))
        return 0;
    *slots[2] = (gv_nvtx_function *)mark_a;
    *slots[9] = (gv_nvtx_function *)push_a;
    *slots[11] = (gv_nvtx_function *)pop;
    if (!callbacks->get_functions(GV_NVTX_CORE2, &slots, &count))
        return 0;
    *slots[2] = (gv_nvtx_function *)start_ex;
    *slots[3] = (gv_nvtx_function *)end;
    *slots[4] = (gv_nvtx_function *)push_ex;
    *slots[5] = (gv_nvtx_function *)domain_pop;
    *slots[10] = (gv_nvtx_function *)register_a;
    *slots[12] = (gv_nvtx_function *)create_a;
    modules++;
    return getenv("NVTX_TOOL_REFUSES") == NULL;
}
