/*
 * dlclose(): after it, addresses that we keep may mean something else. It looks at no caller, so
 * that it can be wrapped by an ordinary function, unlike dlopen() and dlsym().
 */
#include "preload/base/objects.h"
#include "preload/bind/dlsym_filter.h"
#include "preload/bind/entry_points.h"
#include "preload/stacks/python_runtime.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*_Atomic real)(void *);
    int (*call)(void *) = atomic_load(&real);
    int result;
    int saved_errno;

    if (!call) {
        *(void **)&call = gv_objects_next((uintptr_t)gv_plt_slots, "dlclose", NULL);
        atomic_store(&real, call);
    }
    gv_entry_points_begin_close();
    gv_python_runtime_begin_close();
    result = call(handle);
    saved_errno = errno;
    gv_python_runtime_end_close();
    gv_entry_points_end_close();
    errno = saved_errno;
    return result;
}
