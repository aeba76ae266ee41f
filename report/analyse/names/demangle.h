/* Demangles a kernel's C++ name. */
#ifndef GV_ANALYSE_NAMES_DEMANGLE_H
#define GV_ANALYSE_NAMES_DEMANGLE_H

#include <stddef.h>

/* The readable name, or `name` itself; cut to fit. `out` is valid UTF-8 if `name` is. */
const char *gv_demangle(const char *name, char *out, size_t size);

#endif
