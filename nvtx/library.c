/*
 * libgpuverify-nvtx.so: what NVTX opens as its tool. It hands the module that asks to
 * libgpuverify.so, which is in the process already, and to the tool that NVTX would have opened
 * without us. Where libgpuverify.so is not preloaded, as in a child that dropped LD_PRELOAD, that
 * tool is all there is.
 *
 * It has no state: NVTX may close it again.
 */
#include "trace/nvtx.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjectionNvtx2(gv_nvtx_get_table *get_table);
EXPORT int InitializeInjectionNvtxExtension(void *module);

/* A function of the other tool, or NULL. The tool stays open, as with NVTX itself. */
static void *tool_function(const char *name)
{
    const char *path = getenv(GV_NVTX_TOOL);
    void *tool = path && *path ? dlopen(path, RTLD_LAZY) : NULL;

    return tool ? dlsym(tool, name) : NULL;
}

/* NVTX reads the variable in set-user-id programs too. */
static int is_trusted(void)
{
    return !getauxval(AT_SECURE);
}

int InitializeInjectionNvtx2(gv_nvtx_get_table *get_table)
{
    gv_nvtx_attach_function *attach;
    gv_nvtx_initialize *tool;

    if (!is_trusted())
        return 0;
    attach = (gv_nvtx_attach_function *)dlsym(RTLD_DEFAULT, GV_NVTX_ATTACH);
    tool = (gv_nvtx_initialize *)tool_function(GV_NVTX_INITIALIZE);
    if (attach)
        return attach(get_table, tool);
    return tool ? tool(get_table) : 0;
}

/* NVTX's extensions, such as counters, are the other tool's alone. */
int InitializeInjectionNvtxExtension(void *module)
{
    int (*tool)(void *);

    tool = (int (*)(void *))(is_trusted() ? tool_function(GV_NVTX_EXTEND) : NULL);
    return tool ? tool(module) : 0;
}
