#include "report/analyse/names/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GV_HAS_DEMANGLE
/* The C++ library's function, linked into the command: the programs' names come from such
 * compilers. */
char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

const char *gv_demangle(const char *name, char *out, size_t size)
{
    char *plain;
    int status = -1;

    if (!name || strncmp(name, "_Z", 2) != 0)
        return name;
    plain = __cxa_demangle(name, NULL, NULL, &status);
    if (!plain || status != 0) {
        free(plain);
        return name;
    }
    /* Cutting anywhere is fine: a mangled name is ASCII. */
    snprintf(out, size, "%s", plain);
    free(plain);
    return out;
}
#else
const char *gv_demangle(const char *name, char *out, size_t size)
{
    (void)out;
    (void)size;
    return name;
}
#endif
