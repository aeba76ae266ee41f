/*
 * Modules, their functions and variables.
 *
 * Loading compiles if needed, waits until the context is idle, and blocks every other thread that
 * queues work meanwhile. Unloading waits too, but blocks nobody.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

struct gv_sim_memory_of_global {
    struct gv_sim_memory_of_global *next;
    const struct gv_sim_global *global;
    void *address;
};

static void place(struct gv_sim_context *context, struct gv_sim_image *image, bool lazy)
{
    pthread_mutex_lock(&context->work);
    gv_sim_image_compile(image);
    gv_sim_context_drain_holding(context);
    uint64_t start_ns = gv_sim_now_ns();
    gv_sim_pass(gv_sim_settings.load_ns);
    if (lazy)
        gv_sim_trace_overhead(GV_SIM_OVERHEAD_LAZY_LOADING, start_ns);
    pthread_mutex_unlock(&context->work);
}

CUresult gv_sim_module_make(struct gv_sim_context *context, struct gv_sim_image *image,
                            struct gv_sim_library *library, struct gv_sim_module **module)
{
    static _Atomic uint32_t next_id = 1;
    place(context, image, library && !gv_sim_settings.eager);
    struct gv_sim_module *m = gv_sim_object_new(GV_SIM_MODULE, sizeof *m);
    *module = m;
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->context = context;
    m->image = image;
    m->library = library;
    m->id = atomic_fetch_add(&next_id, 1);
    pthread_mutex_lock(&context->list_lock);
    m->next = context->modules;
    context->modules = m;
    pthread_mutex_unlock(&context->list_lock);
    gv_sim_trace_module(true, m);
    return CUDA_SUCCESS;
}

void gv_sim_module_free(struct gv_sim_module *module)
{
    struct gv_sim_context *context = module->context;
    gv_sim_trace_module(false, module);
    pthread_mutex_lock(&context->list_lock);
    struct gv_sim_module **at = &context->modules;
    while (*at && *at != module)
        at = &(*at)->next;
    if (*at)
        *at = module->next;
    pthread_mutex_unlock(&context->list_lock);
    while (module->functions) {
        struct gv_sim_function *f = module->functions;
        module->functions = f->next;
        gv_sim_object_free(f);
    }
    while (module->globals) {
        struct gv_sim_memory_of_global *g = module->globals;
        module->globals = g->next;
        gv_sim_memory_free((uintptr_t)g->address, false);
        free(g);
    }
    if (module->library)
        gv_sim_library_forget(module->library, module);
    else
        gv_sim_image_free(module->image);
    gv_sim_object_free(module);
}

static CUresult load(CUmodule *module, const void *data, size_t size_bytes)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_image *image;
    CUresult result = gv_sim_image_read(data, size_bytes, &image);
    if (result)
        return result;
    struct gv_sim_module *made;
    result = gv_sim_module_make(c, image, NULL, &made);
    gv_sim_image_forget(image);
    if (result)
        gv_sim_image_free(image);
    else
        *module = (CUmodule)made;
    return result;
}

CUresult gv_sim_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(module, image, 0);
}

CUresult gv_sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                   CUjit_option *options, void **optionValues)
{
    if (numOptions && (!options || !optionValues))
        return CUDA_ERROR_INVALID_VALUE;
    return load(module, image, 0);
}

CUresult gv_sim_cuModuleLoad(CUmodule *module, const char *fname)
{
    void *data;
    size_t size;
    if (!gv_sim_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    CUresult result = gv_sim_file_read(fname, &data, &size);
    if (!result)
        result = load(module, data, size);
    free(data);
    return result;
}

CUresult gv_sim_cuModuleUnload(CUmodule hmod)
{
    if (!gv_sim_is(hmod, GV_SIM_MODULE) || ((struct gv_sim_module *)hmod)->library)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = gv_sim_unsafe();
    if (result)
        return result;
    struct gv_sim_module *module = (struct gv_sim_module *)hmod;
    gv_sim_context_drain(module->context);
    gv_sim_module_free(module);
    return CUDA_SUCCESS;
}

CUresult gv_sim_module_function(struct gv_sim_module *module, struct gv_sim_entry *entry,
                                struct gv_sim_kernel *kernel, struct gv_sim_function **function)
{
    pthread_mutex_lock(&module->context->list_lock);
    struct gv_sim_function *f = module->functions;
    while (f && f->entry != entry)
        f = f->next;
    if (!f && (f = gv_sim_object_new(GV_SIM_FUNCTION, sizeof *f))) {
        f->module = module;
        f->entry = entry;
        f->kernel = kernel;
        f->next = module->functions;
        module->functions = f;
    }
    pthread_mutex_unlock(&module->context->list_lock);
    *function = f;
    return f ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult gv_sim_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    if (!hfunc || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!gv_sim_is(hmod, GV_SIM_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_module *module = (struct gv_sim_module *)hmod;
    struct gv_sim_entry *entry = gv_sim_image_find(module->image, name);
    if (!entry)
        return CUDA_ERROR_NOT_FOUND;
    struct gv_sim_function *function;
    gv_sim_context_take_turn(module->context);
    CUresult result = gv_sim_module_function(module, entry, NULL, &function);
    *hfunc = (CUfunction)function;
    return result;
}

CUresult gv_sim_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                           CUmodule mod)
{
    if (!functions || !gv_sim_is(mod, GV_SIM_MODULE))
        return functions ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_module *module = (struct gv_sim_module *)mod;
    struct gv_sim_entry *entry = module->image->entries;
    CUresult result = CUDA_SUCCESS;
    for (unsigned int i = 0; i < numFunctions && entry && !result; i++, entry = entry->next) {
        struct gv_sim_function *function;
        result = gv_sim_module_function(module, entry, NULL, &function);
        functions[i] = (CUfunction)function;
    }
    return result;
}

CUresult gv_sim_module_global(struct gv_sim_module *module, const char *name, CUdeviceptr *address,
                              size_t *size_bytes)
{
    const struct gv_sim_global *global = module->image->globals;
    while (global && strcmp(global->name, name))
        global = global->next;
    if (!global)
        return CUDA_ERROR_NOT_FOUND;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&module->context->list_lock);
    struct gv_sim_memory_of_global *g = module->globals;
    while (g && g->global != global)
        g = g->next;
    if (!g) {
        g = calloc(1, sizeof *g);
        result = g ? gv_sim_memory_make(global->size_bytes, GV_SIM_DEVICE, NULL, &g->address)
                   : CUDA_ERROR_OUT_OF_MEMORY;
        if (result) {
            free(g);
            g = NULL;
        } else {
            g->global = global;
            g->next = module->globals;
            module->globals = g;
        }
    }
    if (g && address)
        *address = (CUdeviceptr)g->address;
    pthread_mutex_unlock(&module->context->list_lock);
    if (!result && size_bytes)
        *size_bytes = global->size_bytes;
    return result;
}

CUresult gv_sim_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                     const char *name)
{
    if ((!dptr && !bytes) || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!gv_sim_is(hmod, GV_SIM_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    return gv_sim_module_global((struct gv_sim_module *)hmod, name, dptr, bytes);
}
