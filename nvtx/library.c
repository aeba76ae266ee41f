/*
 * libgpuverify-nvtx.so: what NVTX opens as its tool. It hands the module that asks to
 * libgpuverify.so, which is in the process already, and with it the tool that NVTX would have
 * opened without us. Where libgpuverify.so is not preloaded, as in a child that dropped LD_PRELOAD,
 * that tool is all there is.
 *
 * It has no state: NVTX may close it again.
 */
#include "trace/nvtx.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT gv_nvtx_initialize InitializeInjectionNvtx2;
EXPORT gv_nvtx_extend InitializeInjectionNvtxExtension;

/* NVTX opens us in set-user-id programs too: it only reads the variable. */
static int is_trusted(void)
{
    return !getauxval(AT_SECURE);
}

/* A function of the other tool, or NULL: also if that is us under another name, whose function is
 * `own`. The tool stays open, as with NVTX itself. */
static void *tool_function(const char *name, const void *own)
{
    const char *path = getenv(GV_NVTX_TOOL);
    void *tool = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    void *function = tool ? dlsym(tool, name) : NULL;

    return function != own ? function : NULL;
}

int InitializeInjectionNvtx2(gv_nvtx_get_table *get_table)
{
    gv_nvtx_attach_function *ours;
    gv_nvtx_initialize *tool;

    if (!is_trusted())
        return 0;
    ours = (gv_nvtx_attach_function *)dlsym(RTLD_DEFAULT, GV_NVTX_OUR_INITIALIZE);
    tool =
        (gv_nvtx_initialize *)tool_function(GV_NVTX_INITIALIZE, (void *)InitializeInjectionNvtx2);
    if (ours)
        return ours(get_table, tool);
    return tool ? tool(get_table) : 0;
}

int InitializeInjectionNvtxExtension(struct gv_nvtx_extension *extension)
{
    gv_nvtx_extend_function *ours;
    gv_nvtx_extend *tool;

    if (!is_trusted())
        return 0;
    ours = (gv_nvtx_extend_function *)dlsym(RTLD_DEFAULT, GV_NVTX_OUR_EXTEND);
    tool =
        (gv_nvtx_extend *)tool_function(GV_NVTX_EXTEND, (void *)InitializeInjectionNvtxExtension);
    if (ours)
        return ours(extension, tool);
    /* With a tool that knows no extensions, all domains count as enabled. */
    return tool ? tool(extension) : getenv(GV_NVTX_TOOL) != NULL;
}
