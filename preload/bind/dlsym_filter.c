#include "preload/bind/dlsym_filter.h"

#include "preload/base/objects.h"
#include "preload/base/own_process.h"
#include "preload/bind/entry_points.h"
#include "trace/same_text.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

void *(*gv_real_dlsym)(void *handle, const char *name);
void *(*gv_real_dlvsym)(void *handle, const char *name, const char *version);
void *(*gv_libcs_dlsym)(void *handle, const char *name);

void gv_dlsym_find_real(void)
{
    /* After our own object, which has these names too. */
    void *real_dlvsym = gv_objects_next_early((uintptr_t)_DYNAMIC, "dlvsym");
    void *real_dlsym = gv_objects_next_early((uintptr_t)_DYNAMIC, "dlsym");

    __atomic_store_n((void **)&gv_real_dlvsym, real_dlvsym, __ATOMIC_RELEASE);
    __atomic_store_n((void **)&gv_real_dlsym, real_dlsym, __ATOMIC_RELEASE);
}

/* Not a hook, which another library's dlsym() may have got from us. */
static bool is_our_export(const void *address, const char *name)
{
    struct gv_object object;

    return gv_objects_at((uintptr_t)address, &object) && gv_object_is_us(&object) &&
           gv_object_symbol(&object, name) == address;
}

static void *ask_real(void *handle, const char *name, const char *version, bool of_another)
{
    if (of_another)
        return gv_libcs_dlsym(handle, name);
    return version ? gv_real_dlvsym(handle, name, version) : gv_real_dlsym(handle, name);
}

/* What a caller would find without us: definitions in other objects that it sees. */
struct sight {
    const char *name;
    const struct gv_object *caller;
    bool past_caller;    /* RTLD_NEXT: only objects after the caller count */
    bool past_us;        /* our object came after the caller */
    bool cuda_is_global; /* it was opened with RTLD_GLOBAL */
    void *found;
};

static bool is_seen(const struct gv_object *object, void *context)
{
    struct sight *sight = context;

    sight->past_us |= sight->past_caller && gv_object_is_us(object);
    if (object->dynamic == sight->caller->dynamic && !sight->past_caller) {
        sight->past_caller = true;
        return false;
    }
    if (!sight->past_caller || gv_object_is_us(object))
        return false;
    sight->found = gv_object_symbol(object, sight->name);
    return sight->found && (object->at_startup || gv_object_reaches(sight->caller, object) ||
                            (sight->cuda_is_global && gv_entry_points_is_cuda(object)));
}

/* Every such library has this call, and we do not export it. If it is found from here, the library
 * was opened with RTLD_GLOBAL. */
static bool cuda_is_global(int api)
{
    const char *name = api < GV_DRIVER_COUNT    ? "cuDriverGetVersion"
                       : gv_api_in_runtime(api) ? "cudaDriverGetVersion"
                                                : "ncclGetVersion";

    return (gv_libcs_dlsym ? gv_libcs_dlsym : gv_real_dlsym)(RTLD_DEFAULT, name);
}

/*
 * RTLD_NEXT from us would start after us, so we search here, from the caller on. If our own export
 * comes first, it stands for the definition that it will call.
 */
static void *find_next(const struct gv_object *caller, const char *name)
{
    struct sight sight = {.name = name, .caller = caller};

    if (!gv_objects_visit(is_seen, &sight))
        return NULL;
    if (caller->at_startup && sight.past_us)
        return gv_objects_next(caller->low, name, NULL);
    return sight.found;
}

/* Our export must not look like a driver: it counts only if another definition is in sight. */
static bool is_more_than_ours(const struct gv_object *caller, const char *name, int api)
{
    struct sight sight = {
        .name = name, .caller = caller, .past_caller = true, .cuda_is_global = cuda_is_global(api)};

    return gv_objects_visit(is_seen, &sight);
}

/* The real dlsym() handles RTLD_NEXT; the stub shows it the caller. */
static struct gv_dlsym_answer find_of_cupti(void *handle, const char *name, const char *version,
                                            uintptr_t caller_address, bool of_another)
{
    struct gv_dlsym_answer pass = {NULL, 0};
    void *found;

    if (handle == RTLD_NEXT || !gv_process_is_ours() || gv_entry_points_is_tool(caller_address))
        return pass;
    if (!gv_real_dlsym)
        gv_dlsym_find_real();
    found = ask_real(handle, name, version, of_another);
    if (!found)
        return pass;
    found = gv_other_profilers_swap(name, found);
    if (!found)
        ask_real(RTLD_NEXT, name, version, of_another); /* for dlerror() */
    return (struct gv_dlsym_answer){found, 1};
}

static bool is_libcs_dlsym(const struct gv_object *object, void *context)
{
    const char *name = gv_object_name(object);

    if (!gv_same_text(name, "libc.so.6") && !gv_same_text(name, "libdl.so.2"))
        return false;
    *(void **)context = gv_object_symbol(object, "dlsym");
    return *(void **)context != NULL;
}

/*
 * A library with a dlsym() of its own (one that shares a GPU between containers, an overlay of a
 * game) asks for libc's, by its version, and then asks that one for the driver's calls. It gets
 * ours with libc's behind it, so that these calls are recorded. Behind our exported one is the
 * library's own, if it comes after us.
 */
static struct gv_dlsym_answer find_libcs_dlsym(void *handle, const char *name, const char *version,
                                               uintptr_t caller_address)
{
    struct gv_dlsym_answer pass = {NULL, 0};
    struct gv_object caller;
    void *libcs = NULL, *found;

    if (!gv_process_is_ours() || !gv_objects_at(caller_address, &caller) ||
        gv_object_is_us(&caller) || !gv_object_symbol(&caller, name) ||
        !gv_objects_visit(is_libcs_dlsym, &libcs))
        return pass;
    if (!gv_real_dlsym)
        gv_dlsym_find_real();
    if (handle == RTLD_NEXT && !version)
        found = gv_objects_next(caller.low, name, NULL);
    else
        found = ask_real(handle == RTLD_NEXT ? RTLD_DEFAULT : handle, name, version, false);
    if (found != libcs)
        return pass;
    __atomic_store_n((void **)&gv_libcs_dlsym, libcs, __ATOMIC_RELEASE);
    return (struct gv_dlsym_answer){(void *)gv_dlsym_of_another, 1};
}

struct gv_dlsym_answer gv_dlsym_filter(void *handle, const char *name, const char *version,
                                       uintptr_t caller_address, bool of_another)
{
    struct gv_dlsym_answer pass = {NULL, 0}, none = {NULL, 1};
    int api = gv_api_find(name);
    struct gv_object caller;
    void *found;

    if (api == GV_API_UNKNOWN && gv_begins_with(name, "cupti"))
        return find_of_cupti(handle, name, version, caller_address, of_another);
    if (api == GV_API_UNKNOWN && !of_another && gv_same_text(name, "dlsym"))
        return find_libcs_dlsym(handle, name, version, caller_address);
    if (api == GV_API_UNKNOWN || !gv_process_is_ours() || gv_entry_points_is_tool(caller_address) ||
        !gv_objects_at(caller_address, &caller))
        return pass;
    if (!gv_real_dlsym)
        gv_dlsym_find_real();
    if (handle == RTLD_NEXT) {
        found = find_next(&caller, name);
    } else {
        found = ask_real(handle, name, version, of_another);
        if (!found) /* the real one reports it to the program */
            return pass;
        if (is_our_export(found, name) && !is_more_than_ours(&caller, name, api))
            found = NULL;
    }
    if (!found) {
        ask_real(RTLD_NEXT, name, version, of_another); /* for dlerror() */
        return none;
    }
    return (struct gv_dlsym_answer){gv_entry_points_swap(found, api), 1};
}
