#include "preload/dlsym_filter.h"

#include "preload/entry_points.h"
#include "preload/objects.h"
#include "preload/process.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

void *(*gv_real_dlsym)(void *handle, const char *name);
void *(*gv_real_dlvsym)(void *handle, const char *name, const char *version);

void gv_dlsym_find_real(void)
{
    /* After our own object, which answers to these names too. */
    void *real_dlvsym = gv_objects_next((uintptr_t)gv_plt_slots, "dlvsym", NULL);
    void *real_dlsym = gv_objects_next((uintptr_t)gv_plt_slots, "dlsym", NULL);

    __atomic_store_n((void **)&gv_real_dlvsym, real_dlvsym, __ATOMIC_RELEASE);
    __atomic_store_n((void **)&gv_real_dlsym, real_dlsym, __ATOMIC_RELEASE);
}

static bool lies_in_us(const void *address)
{
    struct gv_object object;

    return gv_objects_at((uintptr_t)address, &object) && (uintptr_t)gv_plt_slots >= object.low &&
           (uintptr_t)gv_plt_slots < object.high;
}

static void *ask_real(void *handle, const char *name, const char *version)
{
    return version ? gv_real_dlvsym(handle, name, version) : gv_real_dlsym(handle, name);
}

struct gv_dlsym_answer gv_dlsym_filter(void *handle, const char *name, const char *version,
                                       uintptr_t caller)
{
    struct gv_dlsym_answer pass = {NULL, 0};
    int api = gv_api_find(name);
    void *found;

    if (api == GV_API_UNKNOWN || !gv_process_is_ours() || gv_entry_points_is_tool(caller))
        return pass;
    if (!gv_real_dlsym)
        gv_dlsym_find_real();
    /*
     * RTLD_NEXT asked by us would start after us. So the search is done here, from the caller on;
     * a definition of ours among what follows stands for the one that it will call.
     */
    if (handle == RTLD_NEXT)
        found = gv_objects_next(caller, name, NULL);
    else
        found = ask_real(handle, name, version);
    /* Our own export must not look like a driver: it counts only if there is another behind it. */
    if (found && lies_in_us(found))
        found = gv_objects_next((uintptr_t)gv_plt_slots, name, NULL) ? found : NULL;
    if (!found) /* sets dlerror() */
        return (struct gv_dlsym_answer){ask_real(RTLD_NEXT, name, version), 1};
    return (struct gv_dlsym_answer){gv_entry_points_swap(found, api), 1};
}
