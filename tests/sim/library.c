/*
 * Libraries and their kernels: code that belongs to no context until it is used in one.
 *
 * cuLibraryLoadData compiles PTX, and waits for nothing. With lazy loading, the first use of any
 * kernel of the library in a context loads it there, with the waits of a module's load. With eager
 * loading, cuLibraryLoadData does so at once.
 */
#include "tests/sim/sim.h"

#include <stdlib.h>

struct gv_sim_library {
    struct gv_sim_object object;
    struct gv_sim_image *image;
    pthread_mutex_t lock; /* kernels, modules */
    struct gv_sim_kernel *kernels;
    struct loaded {
        struct gv_sim_module *module;
        struct loaded *next;
    } * loaded;
};

static struct gv_sim_module *module_in(struct gv_sim_library *library,
                                       const struct gv_sim_context *context)
{
    struct loaded *l = library->loaded;
    while (l && l->module->context != context)
        l = l->next;
    return l ? l->module : NULL;
}

/* If two threads are first together, one loads and the other waits. */
static CUresult library_module(struct gv_sim_library *library, struct gv_sim_context *context,
                               struct gv_sim_module **module)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&library->lock);
    *module = module_in(library, context);
    if (!*module) {
        struct loaded *l = calloc(1, sizeof *l);
        result = l ? gv_sim_module_make(context, library->image, library, module)
                   : CUDA_ERROR_OUT_OF_MEMORY;
        if (result) {
            free(l);
        } else {
            l->module = *module;
            l->next = library->loaded;
            library->loaded = l;
        }
    }
    pthread_mutex_unlock(&library->lock);
    return result;
}

void gv_sim_library_forget(struct gv_sim_library *library, struct gv_sim_module *module)
{
    pthread_mutex_lock(&library->lock);
    for (struct loaded **at = &library->loaded; *at; at = &(*at)->next) {
        if ((*at)->module == module) {
            struct loaded *l = *at;
            *at = l->next;
            free(l);
            break;
        }
    }
    for (struct gv_sim_kernel *k = library->kernels; k; k = k->next)
        atomic_store(&k->function, NULL);
    pthread_mutex_unlock(&library->lock);
}

static CUresult load(CUlibrary *library, const void *data, size_t size_bytes)
{
    if (!library)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_image *image;
    CUresult result = gv_sim_image_read(data, size_bytes, &image);
    if (result)
        return result;
    struct gv_sim_library *made = gv_sim_object_new(GV_SIM_LIBRARY, sizeof *made);
    if (!made) {
        gv_sim_image_free(image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->image = image;
    gv_sim_image_keep(image);
    gv_sim_image_forget(image);
    gv_sim_image_compile(image);
    pthread_mutex_init(&made->lock, NULL);
    struct gv_sim_context *context = gv_sim_current();
    struct gv_sim_module *module;
    if (gv_sim_settings.eager && context)
        result = library_module(made, context, &module);
    *library = (CUlibrary)made;
    return result;
}

CUresult gv_sim_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                  void **jitOptionsValues, unsigned int numJitOptions,
                                  CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                  unsigned int numLibraryOptions)
{
    if ((numJitOptions && (!jitOptions || !jitOptionsValues)) ||
        (numLibraryOptions && !libraryOptions))
        return CUDA_ERROR_INVALID_VALUE;
    (void)libraryOptionValues;
    return load(library, code, 0);
}

CUresult gv_sim_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
                                      CUjit_option *jitOptions, void **jitOptionsValues,
                                      unsigned int numJitOptions, CUlibraryOption *libraryOptions,
                                      void **libraryOptionValues, unsigned int numLibraryOptions)
{
    void *data;
    size_t size;
    if ((numJitOptions && (!jitOptions || !jitOptionsValues)) ||
        (numLibraryOptions && !libraryOptions))
        return CUDA_ERROR_INVALID_VALUE;
    (void)libraryOptionValues;
    CUresult result = gv_sim_file_read(fileName, &data, &size);
    if (!result)
        result = load(library, data, size);
    free(data);
    return result;
}

CUresult gv_sim_cuLibraryUnload(CUlibrary library)
{
    if (!gv_sim_is(library, GV_SIM_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_library *l = (struct gv_sim_library *)library;
    while (l->loaded) {
        struct gv_sim_module *module = l->loaded->module;
        gv_sim_context_drain(module->context);
        gv_sim_module_free(module);
    }
    while (l->kernels) {
        struct gv_sim_kernel *kernel = l->kernels;
        l->kernels = kernel->next;
        gv_sim_object_free(kernel);
    }
    gv_sim_image_free(l->image);
    pthread_mutex_destroy(&l->lock);
    gv_sim_object_free(l);
    return CUDA_SUCCESS;
}

static struct gv_sim_kernel *kernel_of(struct gv_sim_library *library, struct gv_sim_entry *entry)
{
    pthread_mutex_lock(&library->lock);
    struct gv_sim_kernel *kernel = library->kernels;
    while (kernel && kernel->entry != entry)
        kernel = kernel->next;
    if (!kernel && (kernel = gv_sim_object_new(GV_SIM_KERNEL, sizeof *kernel))) {
        kernel->library = library;
        kernel->entry = entry;
        kernel->next = library->kernels;
        library->kernels = kernel;
    }
    pthread_mutex_unlock(&library->lock);
    return kernel;
}

CUresult gv_sim_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    if (!pKernel || !name)
        return CUDA_ERROR_INVALID_VALUE;
    if (!gv_sim_is(library, GV_SIM_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_library *l = (struct gv_sim_library *)library;
    struct gv_sim_entry *entry = gv_sim_image_find(l->image, name);
    if (!entry)
        return CUDA_ERROR_NOT_FOUND;
    *pKernel = (CUkernel)kernel_of(l, entry);
    return *pKernel ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult module_here(CUlibrary library, struct gv_sim_module **module)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!gv_sim_is(library, GV_SIM_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    return library_module((struct gv_sim_library *)library, c, module);
}

CUresult gv_sim_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
                                   const char *name)
{
    struct gv_sim_module *module;
    if ((!dptr && !bytes) || !name)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = module_here(library, &module);
    return result ? result : gv_sim_module_global(module, name, dptr, bytes);
}

CUresult gv_sim_kernel_function(struct gv_sim_kernel *kernel, struct gv_sim_context *context,
                                struct gv_sim_function **function)
{
    struct gv_sim_module *module;
    CUresult result = library_module(kernel->library, context, &module);
    if (!result)
        result = gv_sim_module_function(module, kernel->entry, kernel, function);
    if (!result)
        atomic_store(&kernel->function, *function);
    return result;
}

CUresult gv_sim_function_of(const void *handle, struct gv_sim_context *context,
                            struct gv_sim_function **function)
{
    if (gv_sim_is(handle, GV_SIM_FUNCTION)) {
        *function = (struct gv_sim_function *)handle;
        return (*function)->module->context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    }
    if (!gv_sim_is(handle, GV_SIM_KERNEL))
        return CUDA_ERROR_INVALID_HANDLE;
    struct gv_sim_kernel *kernel = (struct gv_sim_kernel *)handle;
    *function = atomic_load_explicit(&kernel->function, memory_order_acquire);
    if (*function && (*function)->module->context == context)
        return CUDA_SUCCESS;
    return gv_sim_kernel_function(kernel, context, function);
}

CUresult gv_sim_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct gv_sim_context *c = gv_sim_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!pFunc || !gv_sim_is(kernel, GV_SIM_KERNEL))
        return pFunc ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_function *function;
    CUresult result = gv_sim_kernel_function((struct gv_sim_kernel *)kernel, c, &function);
    if (!result)
        *pFunc = (CUfunction)function;
    return result;
}

CUresult gv_sim_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    if (!pLib || !gv_sim_is(kernel, GV_SIM_KERNEL))
        return pLib ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    *pLib = (CUlibrary)((struct gv_sim_kernel *)kernel)->library;
    return CUDA_SUCCESS;
}
