#include "preload/hooks/registration.h"

#include "preload/hooks/names.h"

#include <stdint.h>

void gv_registration_add(void **fatbin, const char *host_function, const char *device_name)
{
    if (device_name)
        gv_names_register((uintptr_t)host_function, (uintptr_t)fatbin, device_name);
}

void gv_registration_end(void **fatbin)
{
    gv_names_void_owner((uintptr_t)fatbin);
}

void gv_registration_alias(const void *kernel, const void *host_function)
{
    gv_names_alias((uintptr_t)kernel, (uintptr_t)host_function);
}
