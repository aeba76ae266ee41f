/*
 * Wraps dlclose(): after it, stored addresses may mean something else. It does not depend on its
 * caller, so an ordinary function can wrap it, unlike dlopen() and dlsym().
 */
#include "preload/bind/entry_points.h"
#include "preload/bind/libc_calls.h"
#include "preload/stacks/python_runtime.h"
#include "preload/stacks/stack_objects.h"

#include <errno.h>

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    int (*next)(void *) = (int (*)(void *))gv_libc_call(GV_LIBC_dlclose);
    int result;
    int saved_errno;

    gv_entry_points_begin_close();
    gv_python_runtime_begin_close();
    gv_stack_objects_begin_close();
    result = next(handle);
    saved_errno = errno;
    gv_python_runtime_end_close();
    gv_stack_objects_end_close();
    gv_entry_points_end_close();
    errno = saved_errno;
    return result;
}
