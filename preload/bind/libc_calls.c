#include "preload/bind/libc_calls.h"

#include "preload/base/objects.h"
#include "preload/bind/plt_slots.h"

#include <stdatomic.h>

static _Atomic(void *) found[GV_LIBC_COUNT];

void gv_libc_calls_find(void)
{
#define GV_LIBC_NAME(name) #name,
    static const char *const names[] = {GV_LIBC_CALLS(GV_LIBC_NAME)};

    for (int i = 0; i < GV_LIBC_COUNT; i++)
        atomic_store(&found[i], gv_objects_next((uintptr_t)gv_plt_slots, names[i], NULL));
}

void *gv_libc_call(enum gv_libc_call which)
{
    if (!atomic_load(&found[which]))
        gv_libc_calls_find();
    return atomic_load(&found[which]);
}
